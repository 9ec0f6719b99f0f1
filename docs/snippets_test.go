package docs

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/boot"
)

// Every Go program of the guides compiles and passes vet, as it stands.
func TestGoExamplesCompile(t *testing.T) {
	programs := 0
	for _, p := range pages(t) {
		_, fences := p.split()
		for _, f := range fences {
			if f.language != "go" {
				continue
			}
			programs++
			name := filepath.Join(t.TempDir(), "main.go")
			write(t, name, f.text)
			cmd := exec.CommandContext(t.Context(), "go", "vet", name)
			cmd.Dir = ".." // where the module is, and so what it stands on
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s:%d: %v\n%s", p.path, f.line, err, out)
			}
		}
	}
	if programs < 4 {
		t.Errorf("%d programs found; are they fenced as go?", programs)
	}
}

// Every YAML of the pages is a whole schema or a whole boot document, and check
// has nothing against it.
func TestYAMLExamplesLoad(t *testing.T) {
	documents := 0
	for _, p := range pages(t) {
		_, fences := p.split()
		for _, f := range fences {
			if f.language != "yaml" {
				continue
			}
			documents++
			if err := load(t, f.text); err != nil {
				t.Errorf("%s:%d: %v", p.path, f.line, err)
			}
		}
	}
	if documents < 8 {
		t.Errorf("%d documents found; are they fenced as yaml?", documents)
	}
}

const (
	anySchema = "entities:\n  - name: note\n    fields: [{name: id, type: ulid}]\n    events: [{name: changed}]\n" +
		"  - name: order\n    fields: [{name: id, type: ulid}]\n    events: [{name: changed}]\n"
	anyBoot = "auth: {anonymous: {}}\ntenants:\n  main:\n    schema: ./schema\n    datastores: {main: {driver: sqlite, path: ./main.db}}\n"
)

// load loads a boot document beside a schema; the text is one of the two, or
// what is added to a boot document for its targets.
func load(t *testing.T, text string) error {
	t.Helper()
	dir := t.TempDir()
	document, schema := anyBoot, text
	if strings.HasPrefix(text, "events:\n  targets:") {
		text = anyBoot + text
	}
	if strings.Contains(text, "\ntenants:") || strings.HasPrefix(text, "tenants:") {
		document, schema = text, anySchema
		writeCertificate(t, filepath.Join(dir, "tls"))
	}
	write(t, filepath.Join(dir, "rowcast.yaml"), document)
	write(t, filepath.Join(dir, "schema", "schema.yaml"), schema)
	_, refusals := boot.Load(filepath.Join(dir, "rowcast.yaml"), func(string) (string, bool) {
		return "a-value-of-the-environment-that-is-long-enough", true
	})
	return refusals.Err()
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeCertificate makes the two files that an example of tls names.
func writeCertificate(t *testing.T, dir string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})))
	write(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
}
