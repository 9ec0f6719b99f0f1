package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// need is a program that the tests start for themselves. Of a server that runs
// already, or a browser that somebody has open, they use nothing.
type need struct {
	debian string   // the package that has it
	what   string   // for people on other systems
	places []string // names to find in PATH, and patterns of files
}

// programs are all of them. The tests look in the same places.
var programs = []need{
	{"postgresql", "PostgreSQL 15 or newer", []string{"postgres", "/usr/lib/postgresql/1[5-9]/bin/postgres", "/usr/lib/postgresql/[2-9][0-9]/bin/postgres"}},
	{"chromium", "Chromium or Google Chrome", []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}},
	{"pgbouncer", "PgBouncer", []string{"pgbouncer", "/usr/sbin/pgbouncer"}},
	{"nginx", "nginx", []string{"nginx", "/usr/sbin/nginx"}},
	{"caddy", "Caddy", []string{"caddy"}},
	{"nodejs", "Node.js 18 or newer", []string{"node", "nodejs"}},
	{"python3", "Python 3", []string{"python3"}},
}

// machine is where the programs have to be.
type machine struct {
	root string // before the patterns; "" but in tests
	may  bool   // Debian's packages can be installed here
	apt  func(ctx context.Context, args ...string) error
}

// needs sees to it that all programs are there, and installs those that are not.
func needs(ctx context.Context, j job) error {
	_, err := exec.LookPath("apt-get")
	m := machine{may: err == nil && os.Getuid() == 0, apt: func(ctx context.Context, args ...string) error {
		return j.command(ctx, []string{"DEBIAN_FRONTEND=noninteractive"}, "apt-get", args...)
	}}
	return m.supply(ctx)
}

// supply installs in one go what is missing. A mirror that does not answer is
// asked once more.
func (m machine) supply(ctx context.Context) error {
	lacking := m.missing()
	if len(lacking) == 0 {
		return nil
	}
	if !m.may {
		return m.refusal(lacking)
	}
	err := m.install(ctx, lacking)
	if err != nil && ctx.Err() == nil {
		err = m.install(ctx, lacking)
	}
	if err != nil {
		return errors.Join(err, m.refusal(lacking))
	}
	if still := m.missing(); len(still) > 0 {
		return m.refusal(still)
	}
	return nil
}

func (m machine) missing() (lacking []need) {
	for _, n := range programs {
		if !m.has(n) {
			lacking = append(lacking, n)
		}
	}
	return lacking
}

func (m machine) has(n need) bool {
	for _, place := range n.places {
		if !strings.HasPrefix(place, "/") {
			if _, err := exec.LookPath(place); err == nil {
				return true
			}
			continue
		}
		if found, _ := filepath.Glob(m.root + place); len(found) > 0 {
			return true
		}
	}
	return false
}

func (m machine) install(ctx context.Context, lacking []need) error {
	// Another run of apt-get is waited for, not stumbled over.
	lock := "-oDPkg::Lock::Timeout=300"
	if err := m.apt(ctx, "update", "-q", lock); err != nil {
		return err
	}
	return m.apt(ctx, append([]string{"install", "-q", "-y", "--no-install-recommends", lock}, packages(lacking)...)...)
}

// refusal says what to install.
func (m machine) refusal(lacking []need) error {
	var names []string
	for _, n := range lacking {
		names = append(names, n.what)
	}
	return fmt.Errorf("the tests start programs of their own, and here is no %s: install what is missing (Debian, as root: apt-get install --no-install-recommends %s)",
		strings.Join(names, ", no "), strings.Join(packages(lacking), " "))
}

func packages(lacking []need) (names []string) {
	for _, n := range lacking {
		names = append(names, n.debian)
	}
	return names
}
