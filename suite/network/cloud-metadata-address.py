# airlock-case: {"expect": "success", "has": "no metadata", "never": "BREACH", "note": "the metadata services of clouds hand out credentials to whoever can speak HTTP to a link-local address", "source": "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html"}
import socket

hit = []
for host, path in (("169.254.169.254", "/latest/meta-data/"), ("169.254.170.2", "/v2/credentials"), ("100.100.100.200", "/latest/"),
                   ("168.63.129.16", "/machine"), ("169.254.169.254", "/computeMetadata/v1/"), ("192.0.0.192", "/latest/")):
    try:
        with socket.create_connection((host, 80), timeout=5) as s:
            s.sendall(f"GET {path} HTTP/1.0\r\nMetadata-Flavor: Google\r\n\r\n".encode())
            hit.append((host, s.recv(100)))
    except OSError as e:
        print(host, e)
print("BREACH" if hit else "no metadata", hit)
