#include <string.h>

#include "image/sources.h"
#include "test.h"

#define LINE(uri, suite) "deb [arch=amd64 signed-by=" SOURCES_KEYRING "] " uri " " suite " main\n"

static void expect(const char *text, bool deb822, const char *wanted)
{
    auto_buf struct buf out = BUF_INIT(64 * KIB);

    assert_int_equal(sources_filter(text, deb822, "bookworm", &out), 0);
    assert_string_equal(out.data != NULL ? (char *)out.data : "", wanted);
}

static void debian_sources_in_both_formats_are_taken_once(void **state)
{
    (void)state;
    expect("deb http://deb.debian.org/debian bookworm main contrib\n"
           "deb http://deb.debian.org/debian bookworm main # again\n",
           false, LINE("http://deb.debian.org/debian", "bookworm"));
    expect("# comment\nTypes: deb deb-src\nURIs: http://deb.debian.org/debian\n"
           "Suites: bookworm bookworm-updates\nComponents: main\n"
           "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n"
           "Types: deb\nURIs: http://deb.debian.org/debian-security\nSuites: bookworm-security\n"
           "Components: main non-free\n",
           true,
           LINE("http://deb.debian.org/debian", "bookworm")
               LINE("http://deb.debian.org/debian", "bookworm-updates")
                   LINE("http://deb.debian.org/debian-security", "bookworm-security"));
    expect("deb [ arch=amd64,i386 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg ] "
           "https://mirror.example/debian/ bookworm main\n",
           false, LINE("https://mirror.example/debian/", "bookworm"));
    expect("Types: deb\nURIs: mirror+file:///etc/apt/mirrors/debian.list\nSuites: bookworm\n"
           "Components: main\n",
           true, LINE("mirror+file:///etc/apt/mirrors/debian.list", "bookworm"));
}

static void other_origins_are_left_out(void **state)
{
    (void)state;
    expect("deb https://deb.nodesource.com/node_20.x nodistro main\n"
           "deb https://download.docker.com/linux/debian bookworm stable\n"
           "deb https://apt.releases.hashicorp.com bookworm main\n"
           "deb [signed-by=/etc/apt/keyrings/x.gpg] http://x.example/debian bookworm main\n"
           "deb http://apt.postgresql.org/pub/repos/apt bookworm-pgdg main\n"
           "deb-src http://deb.debian.org/debian bookworm main\n"
           "deb cdrom:[Debian]/debian bookworm main\n"
           "deb http://deb.debian.org/debian trixie main\n"
           "deb [arch=arm64] http://deb.debian.org/debian bookworm main\n"
           "deb http://deb.debian.org/debian\"; bookworm main\n"
           "deb [broken http://deb.debian.org/debian bookworm main\ndeb\n\n",
           false, "");
    expect("Types: deb\nURIs: http://x.example/debian\nSuites: bookworm\nComponents: main\n"
           "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n\n"
           "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: bookworm\nComponents: main\n"
           "Enabled: no\n",
           true, "");
}

TEST_MAIN(T(debian_sources_in_both_formats_are_taken_once), T(other_origins_are_left_out))
