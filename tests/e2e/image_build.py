#!/usr/bin/env python3
"""Builds images and the guest kernel for real: needs the network, and root for some cases.

usage: image_build.py [--airlock build/airlock] [CASE...]

Prints TAP. Everything lies in one temporary directory.
"""
import argparse
import ctypes
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOBODY = 65534
CASES = []


OFFLINE = ('Temporary failure resolving', 'Could not resolve', 'Could not connect',
           'Network is unreachable')


class Skip(Exception):
    pass


def case(f):
    CASES.append(f)
    return f


class Bench:
    """The program under test and one state that cases build in."""

    def __init__(self, airlock, tmp):
        self.airlock, self.tmp = airlock, tmp
        self.state = os.path.join(tmp, 'state')

    def start(self, *args, state=None, prefix=()):
        return subprocess.Popen([*prefix, self.airlock, 'image', *args, '--state', state or self.state],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, cwd='/')

    def run(self, *args, code=0, **more):
        child = self.start(*args, **more)
        out, err = child.communicate(timeout=900)
        assert child.returncode == code, (args, child.returncode, out[-500:], err[-1000:])
        return out, err

    def image(self, name, state=None):
        listing = json.loads(self.run('list', '--json', state=state)[0])
        return next((i for i in listing['images'] if i['name'] == name), None)

    def fresh(self, name):
        path = os.path.join(self.tmp, name)
        os.mkdir(path, 0o700)
        return path


def need_root():
    if os.geteuid() != 0:
        raise Skip('needs root')


def leftovers(state):
    return os.listdir(os.path.join(state, 'tmp'))


@case
def the_kernel_and_an_image_are_built_and_verified(b):
    """kernel and python are built, listed and verified"""
    b.run('build', 'kernel')
    b.run('build', 'python')
    listing = json.loads(b.run('list', '--json')[0])
    assert listing['kernel']['package']['name'].endswith('-cloud-amd64'), listing['kernel']
    image = b.image('python')
    names = {p['name'] for p in image['packages']}
    assert {'python3', 'libpython3-stdlib', 'tzdata', 'dash'} <= names, names
    assert all(p['suite'].startswith('Debian') for p in image['packages'])
    assert b.run('verify')[0] == 'kernel: ok\npython: ok\n'
    assert leftovers(b.state) == []
    for path in glob.glob(b.state + '/objects/*'):
        assert os.stat(path).st_mode & 0o7777 == 0o444, path


@case
def the_same_packages_give_the_same_digest(b):
    """a second build from the cache gives the same digest and needs no network"""
    need_root()
    before = b.image('python')
    b.run('build', 'python', prefix=['/usr/bin/unshare', '-n'])
    assert b.image('python')['sha256'] == before['sha256']


@case
def without_root_the_digest_is_the_same(b):
    """nobody, without root or subordinate ids, builds the same bytes"""
    need_root()
    parent = b.fresh('nobody')
    os.chmod(b.tmp, 0o755)
    os.chown(parent, NOBODY, NOBODY)
    state = parent + '/state'
    drop = ['/usr/bin/setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups']
    b.run('build', 'python', state=state, prefix=drop)
    listing = json.loads(b.run('list', '--json', state=state, prefix=drop)[0])
    assert listing['images'][0]['sha256'] == b.image('python')['sha256']


@case
def further_packages_are_taken(b):
    """an image with python3-numpy imports numpy"""
    need_root()
    b.run('build', 'np', '--from', 'python', '--packages', 'python3-numpy')
    path = f'{b.state}/objects/{b.image("np")["sha256"]}'
    root = b.tmp + '/np'
    subprocess.run(['rdsquashfs', '-u', '/', '-p', root, '-qCO', path], check=True)
    out = subprocess.run(['chroot', root, '/usr/bin/python3', '-c',
                          'import numpy; print(numpy.linalg.det(numpy.eye(3)))'],
                         capture_output=True, text=True, check=False)
    assert out.stdout == '1.0\n', out
    b.run('rm', 'np')
    assert not os.path.exists(path)


@case
def node_is_debians(b):
    """javascript holds Debian's node, whatever other origins the host lists"""
    b.run('build', 'javascript')
    node = next(p for p in b.image('javascript')['packages'] if p['name'] == 'nodejs')
    assert node['version'].startswith('18.'), node


@case
def nothing_is_outdated_after_a_build(b):
    """outdated says nothing after a build, and names a package whose version differs"""
    b.run('outdated')
    path = b.state + '/images/python.json'
    text = open(path).read()
    m = json.loads(text)
    m['packages'][0]['version'] = '0.1'
    with open(path, 'w') as f:
        json.dump(m, f)
    out = json.loads(b.run('outdated', '--json', code=1)[0])['outdated']
    assert [(p['image'], p['package'], p['have']) for p in out] == \
        [('python', m['packages'][0]['name'], '0.1')], out
    assert b.run('update')[0] == '1 rebuilt\n'
    b.run('outdated')
    assert json.loads(open(path).read())['root'] == json.loads(text)['root']


@case
def a_flipped_bit_is_found(b):
    """a corrupt object is named with the remedy, and the remedy works"""
    path = f'{b.state}/objects/{b.image("python")["sha256"]}'
    os.chmod(path, 0o600)
    with open(path, 'r+b') as f:
        f.seek(1 << 20)
        byte = f.read(1)
        f.seek(1 << 20)
        f.write(bytes([byte[0] ^ 1]))
    _, err = b.run('verify', 'python', code=1)
    assert 'corrupt' in err and 'airlock image build python' in err, err
    b.run('build', 'python')
    b.run('verify', 'python')


@case
def a_killed_build_leaves_nothing_in_use(b):
    """a build killed at any moment changes nothing, and the next one cleans up"""
    before = b.image('python')
    for delay in [0.3, 1.5, 3, 6]:
        child = b.start('build', 'python')
        time.sleep(delay)
        child.kill()
        child.communicate()
        assert b.image('python')['sha256'] == before['sha256']
        b.run('verify', 'python')
    b.run('build', 'python')
    assert leftovers(b.state) == [], leftovers(b.state)


@case
def a_second_builder_waits(b):
    """a second builder says that it waits, then builds"""
    first = b.start('build', 'kernel')
    time.sleep(0.5)
    first.send_signal(signal.SIGSTOP)
    second = b.start('build', 'kernel')
    time.sleep(1)
    first.send_signal(signal.SIGCONT)
    assert first.wait(timeout=300) == 0
    _, err = second.communicate(timeout=300)
    first.communicate()
    assert second.returncode == 0 and 'waiting for another airlock' in err, err


@case
def without_network_the_archive_error_is_named(b):
    """without network the message names the archive and what failed"""
    need_root()
    state = b.tmp + '/nonet'
    _, err = b.run('build', 'kernel', state=state, prefix=['/usr/bin/unshare', '-n'], code=1)
    assert "cannot reach or verify Debian's archive" in err and 'http' in err, err
    assert os.listdir(state + '/objects') == []


@case
def a_full_disk_is_said_so(b):
    """a full disk is said so and leaves nothing half-made, early or late"""
    need_root()
    for size in [60, 150, 210]:
        state = b.fresh(f'full-{size}')
        if ctypes.CDLL(None, use_errno=True).mount(b'none', state.encode(), b'tmpfs', 0,
                                                   f'size={size}m,mode=0700'.encode()) != 0:
            raise Skip('cannot mount a tmpfs here')
        try:
            _, err = b.run('build', 'python', state=state, code=1)
            assert 'disk of the state directory is full' in err, (size, err)
            assert b.image('python', state=state) is None
            assert os.listdir(state + '/objects') == []
        finally:
            subprocess.run(['umount', state], check=True)


@case
def a_missing_tool_names_its_package(b):
    """without mmdebstrap the package to install is named"""
    need_root()
    hide = ['/usr/bin/unshare', '-m', '/bin/sh', '-c',
            'mount --bind /dev/null /usr/bin/mmdebstrap && exec "$@"', 'sh']
    _, err = b.run('build', 'python', state=b.tmp + '/notool', prefix=hide, code=2)
    assert 'apt-get install mmdebstrap' in err, err


@case
def bad_requests_are_refused(b):
    """wrong names, packages and combinations are refused before anything is done"""
    for args, code, text in [
            (('build', 'foo'), 2, 'not built in'),
            (('build', '../x', '--from', 'python'), 2, 'not a name'),
            (('build', 'x', '--from', 'perl'), 2, 'cannot build from'),
            (('build', 'x', '--from', 'python', '--packages', '-o'), 2, 'not the name of a Debian'),
            (('build', 'x', '--from', 'python', '--packages', 'a b'), 2, 'not the name of a Debian'),
            (('build', 'x', '--from', 'python', '--packages', ''), 2, 'not the name of a Debian'),
            (('build', 'python', '--from', 'python', '--packages', 'python3-numpy'), 2, 'built-in'),
            (('build', '--packages', 'python3-numpy'), 2, 'NAME'),
            (('build', 'kernel', '--from', 'python'), 2, 'kernel'),
            (('rm',), 2, 'NAME'),
            (('rm', 'nope'), 2, 'no image'),
            (('verify', 'nope'), 2, 'never built'),
    ]:
        _, err = b.run(*args, code=code)
        assert text in err, (args, err)
    _, err = b.run('build', 'x', '--from', 'python', '--packages', 'no-such-package', code=1)
    assert 'Unable to locate package no-such-package' in err, err
    assert b.image('x') is None


# These need no archive.
LOCAL = (without_network_the_archive_error_is_named, a_missing_tool_names_its_package)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--airlock', default=os.environ.get('AIRLOCK', ROOT + '/build/airlock'))
    p.add_argument('cases', nargs='*')
    args = p.parse_args()
    cases = [c for c in CASES if not args.cases or c.__name__ in args.cases]
    failed = 0
    print(f'1..{len(cases)}', flush=True)
    with tempfile.TemporaryDirectory(prefix='airlock-image-') as tmp:
        b = Bench(os.path.abspath(args.airlock), tmp)
        offline = ''
        for n, f in enumerate(cases, 1):
            t0 = time.monotonic()
            try:
                if offline and f not in LOCAL:
                    raise Skip(offline)
                f(b)
                result, more = 'ok', ''
            except Skip as e:
                result, more = 'ok', f' # SKIP {e}'
            except (AssertionError, subprocess.SubprocessError, OSError, KeyError, TypeError,
                    StopIteration, ValueError) as e:
                if any(mark in str(e) for mark in OFFLINE) and f not in LOCAL:
                    offline = "Debian's archive cannot be reached from here"
                    result, more = 'ok', f' # SKIP {offline}'
                else:
                    result, more = 'not ok', f'\n# {type(e).__name__}: ' + str(e).replace('\n', '\n# ')
                    failed += 1
            print(f'{result} {n} - {f.__doc__}{more}\n# {time.monotonic() - t0:.1f} s', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
