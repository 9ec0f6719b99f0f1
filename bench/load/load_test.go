package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTheReportSaysWhatWasWritten(t *testing.T) {
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if len(paths) < 2 {
			paths = append(paths, r.URL.Path+" "+string(body)+" "+r.Header.Get("Authorization"))
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()
	var out strings.Builder
	err := run(t.Context(), []string{"--url", server.URL, "--entity", "order", "--token", "t", "--streams", "0", "--writers", "1", "--duration", "100ms",
		"--body", `{"n":%d}`}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if want := `/data/order {"n":1} Bearer t`; len(paths) < 2 || paths[1] != want {
		t.Errorf("requests %q, want the second to be %s", paths, want)
	}
	if !strings.Contains(out.String(), "by 1 writers") {
		t.Errorf("report:\n%s", out.String())
	}
}

func TestWhatCannotBeRunIsRefused(t *testing.T) {
	for args, want := range map[string]string{
		"":                               "--entity is required",
		"--entity order --latency":       "--writers 1",
		"--entity order --streams -1":    "negative",
		"--entity order --url https://x": "http://HOST:PORT",
	} {
		if err := run(t.Context(), strings.Fields(args), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to say %q", args, err, want)
		}
	}
}
