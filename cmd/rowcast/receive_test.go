package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowcast/rowcast/webhook"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

const hookBody = `{"id":"01M2P1R18V26CMVBZ1DC0AS1Z1","type":"entity.create","entity":"order","subject":"01M2P1R18HT8575N8GVM2H5WPN","n":9007199254740993}`

// receiving starts a receiver on any port.
func receiving(t *testing.T, args ...string) (p *process, url string) {
	t.Helper()
	p = start(t, append([]string{"receive", "--listen", "127.0.0.1:0"}, args...)...)
	return p, p.line(t, `^listening on (http://127\.0\.0\.1:\d+)$`)[1]
}

// deliver posts one attempt at a delivery, and returns the status of the answer.
func deliver(t *testing.T, url, id, body string, change func(http.Header), secrets ...string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	webhook.SetHeaders(req.Header, webhook.Delivery{ID: id, Topic: "entity.order", Event: "entity.create"}, secrets, time.Now(), []byte(body))
	if change != nil {
		change(req.Header)
	}
	req.Close = true
	resp, err := http.DefaultTransport.RoundTrip(req) // which follows nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// next is the next line of stdout.
func (p *process) next(t *testing.T) string {
	t.Helper()
	if !p.stdout.Scan() {
		t.Fatalf("no line; stderr:\n%s", p.stderr.String())
	}
	return p.stdout.Text()
}

func TestReceivePrintsALineADelivery(t *testing.T) {
	p, url := receiving(t, "--secret", "the-one-before", "--secret", hookSecret)
	for i, want := range []string{
		`^\d\d:\d\d:\d\d entity\.create 01M2P1R18HT8575N8GVM2H5WPN U1 verified by X-Kisai-Signature and webhook-signature, answer 200: ` + regexp.QuoteMeta(hookBody) + `$`,
		`^\d\d:\d\d:\d\d entity\.create 01M2P1R18HT8575N8GVM2H5WPN U1 verified by X-Kisai-Signature and webhook-signature, time 2, answer 200: `,
	} {
		if got := deliver(t, url, "U1", hookBody, nil, hookSecret); got != 200 {
			t.Errorf("attempt %d: status %d", i+1, got)
		}
		if got := p.next(t); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("attempt %d:\n got %s\nwant %s", i+1, got, want)
		}
	}
	deliver(t, url, "U2", "no\x1b[2J JSON", func(h http.Header) { h.Del(webhook.HeaderSignature) }, "the-one-before")
	if got := p.next(t); !strings.HasSuffix(got, ` entity.create - U2 verified by webhook-signature, answer 200: "no\u001b[2J JSON"`) {
		t.Errorf("a body that is no JSON: %s", got)
	}
	if status := p.end(t, syscall.SIGTERM); status != 0 {
		t.Errorf("ended with %d: %s", status, p.stderr.String())
	}
}

// What does not verify is refused, and the line says why without a secret.
func TestReceiveSaysWhatDoesNotVerify(t *testing.T) {
	p, url := receiving(t, "--secret", hookSecret, "--path", "/hooks")
	for name, c := range map[string]struct {
		path   string
		change func(http.Header)
		secret string
		status int
		want   string
	}{
		"another secret": {"/hooks", nil, "another", 401, "is the secret the target's"},
		"an old one": {"/hooks", func(h http.Header) {
			webhook.SetHeaders(h, webhook.Delivery{ID: "U1"}, []string{hookSecret}, time.Now().Add(-time.Hour), []byte(hookBody))
		}, hookSecret, 401, "compare the clocks"},
		"a header is missing": {"/hooks", func(h http.Header) { h.Del(webhook.HeaderTimestamp) }, hookSecret, 401, "X-Kisai-Timestamp is missing"},
		"no signature":        {"/hooks", func(h http.Header) { clear(h) }, hookSecret, 401, "not signed"},
		"another path":        {"/hoo%0aks", nil, hookSecret, 404, `it was sent to "/hoo\nks", and deliveries are taken at --path /hooks`},
		"an id with colours":  {"/hooks", func(h http.Header) { h.Set(webhook.HeaderDelivery, "U\u009b31m") }, hookSecret, 401, `delivery "U\u009b31m"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := deliver(t, url+c.path, "U1", hookBody, c.change, c.secret); got != c.status {
				t.Errorf("status %d, want %d", got, c.status)
			}
			got := p.next(t)
			if !strings.Contains(got, " refused: ") || !strings.Contains(got, c.want) {
				t.Errorf("got %s\nwant it to say %s", got, c.want)
			}
			if strings.Contains(got, "MfKQ9r8G") || strings.Contains(got, "01M2P1R18HT8575N8GVM2H5WPN") {
				t.Errorf("the line tells too much: %s", got)
			}
		})
	}
}

func TestReceivePlaysAReceiverThatFails(t *testing.T) {
	for flags, want := range map[string][]int{
		"":                             {200, 200, 200},
		"--status 204":                 {204, 204, 204},
		"--status 302":                 {302, 302, 302},
		"--fail 2":                     {500, 500, 200},
		"--fail 1 --status 429":        {429, 200, 200},
		"--fail 1 --delay 1ms":         {500, 200, 200},
		"--status 500 --path /a/hook ": {500, 500, 500},
	} {
		t.Run(flags, func(t *testing.T) {
			p, url := receiving(t, append(strings.Fields(flags), "--secret", hookSecret, "--count", "3")...)
			var got []int
			for range want {
				got = append(got, deliver(t, url+"/a/hook", "U1", hookBody, nil, hookSecret))
			}
			if !slices.Equal(got, want) {
				t.Errorf("answered %v, want %v", got, want)
			}
			for p.stdout.Scan() { // until it ends by itself
			}
			if err := p.cmd.Wait(); err != nil {
				t.Errorf("after three: %v, %s", err, p.stderr.String())
			}
		})
	}
}

// A delay lasts, and the end does not wait for it.
func TestReceiveEndsWhileItDelays(t *testing.T) {
	p, url := receiving(t, "--secret", hookSecret, "--delay", "1h")
	status := make(chan int, 1)
	go func() { defer close(status); status <- deliver(t, url, "U1", hookBody, nil, hookSecret) }()
	p.line(t, ` U1 verified by `)
	select {
	case got := <-status:
		t.Errorf("answered %d at once", got)
	default:
	}
	if got := p.end(t, syscall.SIGINT); got != 0 {
		t.Errorf("ended with %d", got)
	}
	if got := <-status; got != http.StatusServiceUnavailable {
		t.Errorf("answered %d, want 503, after which it comes again", got)
	}
}

// With --json there is nothing but an object a line on stdout.
func TestReceiveForMachines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets")
	write(t, file, "the-one-before\r\n\n"+hookSecret+"\n")
	for name, c := range map[string]struct{ args, env string }{
		"secrets from a file":         {"--secret-file " + file, ""},
		"a secret of the environment": {"", hookSecret},
		"a flag before it":            {"--secret " + hookSecret, "another"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, binary, append([]string{"receive", "--json", "--once", "--listen", "127.0.0.1:0"}, strings.Fields(c.args)...)...)
			cmd.Env = append(os.Environ(), "ROWCAST_WEBHOOK_SECRET="+c.env)
			var out strings.Builder
			cmd.Stdout = &out
			said, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(said).ReadString('\n')
			url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
			if !ok {
				t.Fatalf("said %q, %v", line, err)
			}
			deliver(t, url, "U1", hookBody, nil, "wrong")
			deliver(t, url, "U1", hookBody, nil, hookSecret)
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			refused, accepted, _ := strings.Cut(out.String(), "\n")
			var got struct {
				Verified                      bool
				Delivery, Topic, Event, Error string
				Subject, From                 string
				Times, Status                 int
				Schemes                       []string
				Body                          json.RawMessage
			}
			if err := json.Unmarshal([]byte(refused), &got); err != nil || got.Verified || got.Error == "" || got.From == "" || got.Body != nil {
				t.Errorf("refused: %s %v", refused, err)
			}
			if err := json.Unmarshal([]byte(accepted), &got); err != nil || !got.Verified || string(got.Body) != hookBody {
				t.Errorf("accepted: %s %v", accepted, err)
			}
			if got.Delivery != "U1" || got.Topic != "entity.order" || got.Event != "entity.create" || got.Subject != "01M2P1R18HT8575N8GVM2H5WPN" ||
				got.Times != 1 || got.Status != 200 || !slices.Equal(got.Schemes, []string{"X-Kisai-Signature", "webhook-signature"}) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestReceiveRefusesAWrongCall(t *testing.T) {
	t.Setenv("ROWCAST_WEBHOOK_SECRET", "")
	for args, want := range map[string]string{
		"":                                "ROWCAST_WEBHOOK_SECRET",
		"--secret-file /nowhere":          "--secret-file: open /nowhere",
		"--secret whsec_notbase64!":       "base64",
		"--secret x --path hooks":         "begins with /",
		"--secret x --status 99":          "from 200 to 599",
		"--secret x --fail -1":            "below 0",
		"--secret x --once --count 2":     "leave one of them out",
		"--secret whsec_c2VjcmV0 --delay": "needs an argument",
	} {
		t.Run(args, func(t *testing.T) {
			got := run(t, append([]string{"receive"}, strings.Fields(args)...)...)
			if got.status != 2 || got.stdout != "" || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "notbase64") {
				t.Errorf("got %+v, want status 2 and %q", got, want)
			}
		})
	}
	if got := run(t, "receive", "--secret", "x", "--listen", "nowhere"); got.status != 1 {
		t.Errorf("an address that is none: %+v", got)
	}
}
