package main_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
)

func TestReadyAsksAServer(t *testing.T) {
	server := start(t, "serve", "--config", anyPort(t, "../../examples/shop"))
	url := server.line(t, `^listening on (\S+)$`)[1]
	for _, address := range []string{url, url + "/"} {
		if got := run(t, "ready", "--url", address, "--timeout", "1m"); got != (result{"ready\n", "", 0}) {
			t.Errorf("%s: got %+v", address, got)
		}
	}
	server.end(t, syscall.SIGTERM)
	const nobody = "http://127.0.0.1:1" // a port that is for no server
	if got := run(t, "ready", "--url", nobody); got.status != 1 || got.stdout != "" || !strings.Contains(got.stderr, "not ready: ") || !strings.Contains(got.stderr, "connection refused") {
		t.Errorf("where nobody listens: %+v", got)
	}
}

func TestReadySaysWhyNot(t *testing.T) {
	release := make(chan struct{})
	answers := http.NewServeMux()
	answers.HandleFunc("GET /busy/readyz", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("{\"status\":\"stopping\"}\x1b[2J\n"))
	})
	answers.HandleFunc("GET /away/readyz", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"type":"about:blank","status":503,"detail":"not ready: a datastore does not answer"}`))
	})
	answers.HandleFunc("GET /moved/readyz", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) })
	answers.HandleFunc("GET /silent/readyz", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	s := httptest.NewServer(answers)
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) })
	for path, want := range map[string]string{
		"/busy": `answers 503 Service Unavailable: {"status":"stopping"}?[2J`, "/away": "Service Unavailable: a datastore does not answer\n", "/moved": "answers 302 Found", "/silent": "has not answered within 100ms", "": "answers 404 Not Found",
	} {
		timeout := "1m"
		if path == "/silent" {
			timeout = "100ms"
		}
		if got := run(t, "ready", "--url", s.URL+path, "--timeout", timeout); got.status != 1 || got.stdout != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: got %+v, want %q", path, got, want)
		}
	}
}

func TestReadyIsToldWhomToAsk(t *testing.T) {
	for _, args := range []string{"ready --url 127.0.0.1:8080", "ready --url ftp://a", "ready --url http://", "ready --timeout 0s", "ready extra"} {
		if got := run(t, strings.Fields(args)...); got.status != 2 || got.stdout != "" {
			t.Errorf("%s: got %+v", args, got)
		}
	}
}
