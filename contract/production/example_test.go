package production

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/rowcast/rowcast/client"
	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/servertest"
)

const example = "../../examples/cluster"

func exampleFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(example, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// compose is what the tests look at of a compose file.
type compose struct {
	Services map[string]struct {
		Image       string
		Build       struct{ Context, Dockerfile string }
		Environment map[string]string
		Volumes     []string
		DependsOn   any `yaml:"depends_on"`
		Ports       []string
	}
	Volumes map[string]any
}

// What the files of the example call each other is there: services, mounted
// files, variables. Docker itself is not at hand in the tests.
func TestTheExampleFitsTogether(t *testing.T) {
	var c compose
	if err := yaml.Unmarshal([]byte(exampleFile(t, "compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	upstream := regexp.MustCompile(`server (\w+):8080 `).FindAllStringSubmatch(exampleFile(t, "nginx.conf"), -1)
	if len(upstream) != 2 {
		t.Errorf("nginx.conf leads to %v", upstream)
	}
	for _, m := range upstream {
		s, there := c.Services[m[1]]
		if !there {
			t.Errorf("nginx.conf leads to %s, which is no service", m[1])
		}
		for _, v := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(exampleFile(t, "rowcast.yaml"), -1) {
			if s.Environment[v[1]] == "" {
				t.Errorf("%s has no %s, which rowcast.yaml takes from the environment", m[1], v[1])
			}
		}
		if s.Build.Dockerfile != "examples/cluster/Dockerfile" || s.Build.Context != "../.." {
			t.Errorf("%s is built from %+v", m[1], s.Build)
		}
	}
	for name, s := range c.Services {
		for _, v := range s.Volumes {
			host, _, _ := strings.Cut(v, ":")
			_, named := c.Volumes[host]
			if _, err := os.Stat(filepath.Join(example, host)); !named && err != nil {
				t.Errorf("%s mounts %s: %v", name, host, err)
			}
		}
	}
	if ports := c.Services["nginx"].Ports; len(ports) != 1 || !strings.HasSuffix(ports[0], ":8080") || !strings.Contains(exampleFile(t, "nginx.conf"), "listen 8080;") {
		t.Errorf("nginx is published as %v", ports)
	}
}

// The example's own boot document, schema and nginx.conf serve: two instances
// that start at once, and a proxy; only addresses are others.
func TestTheExampleRuns(t *testing.T) {
	const secret = "a-secret-of-the-example-32-bytes!!"
	schema, err := filepath.Abs(filepath.Join(example, "schema"))
	if err != nil {
		t.Fatal(err)
	}
	database := pgtest.Database(t)
	var both [2]*instance
	var wg sync.WaitGroup
	for i := range both {
		document := replace(t, exampleFile(t, "rowcast.yaml"), "0.0.0.0:8080", servertest.FreeAddress(t), "0.0.0.0:9090", servertest.FreeAddress(t))
		s := prepare(t, document, schema, "DATABASE_URL="+database, "ROWCAST_JWT_SECRET="+secret)
		both[i] = s
		wg.Go(func() {
			if err := s.start(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	dir := pgtest.Folder(t)
	p := startNginx(t, dir, func(address string) string {
		return "pid " + dir + "/pid;\n" + replace(t, exampleFile(t, "nginx.conf"), "listen 8080;", "listen "+address+";",
			"rowcast1:8080", both[0].address(), "rowcast2:8080", both[1].address(), "http {\n", "http {\n"+temporary(dir))
	})
	p.url = "http://" + p.url
	ann := clientWith(t, p.url, both[0].token(t, "--sub", "ann", "--tenant", "acme:prod:shop:t1"), nil)
	sam := clientWith(t, p.url, both[0].token(t, "--sub", "sam", "--roles", "staff", "--tenant", "acme:prod:shop:t1"), nil)
	anns, sams := follow(t, ann, client.Subscription{Entity: "order"}), follow(t, sam, client.Subscription{Entity: "order"})
	write := func(c *client.Client) string {
		t.Helper()
		row, err := client.Decode[struct{ ID string }](c.Create(t.Context(), "order", map[string]any{"title": "a book"}))
		if err != nil {
			t.Fatal(err)
		}
		return row.ID
	}
	for range 4 { // by turns, on both instances
		hers, his := write(ann), write(sam)
		anns.sees(hers)
		sams.sees(hers, his)
	}
	both[0].stop()
	hers := write(ann)
	anns.sees(hers)
	sams.sees(hers)
}

// token asks the command for a token, as the example's README does.
func (s *instance) token(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), servertest.Binary(t), append([]string{"token", "--config", "rowcast.yaml"}, args...)...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
