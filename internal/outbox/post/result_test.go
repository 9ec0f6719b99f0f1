package post

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestEveryStatusHasItsClass: C1's table over all there are.
func TestEveryStatusHasItsClass(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for status := 100; status <= 599; status++ {
		want := Retry
		switch {
		case status/100 == 2:
			want = Accepted
		case status/100 == 4 && status != 408 && status != 429:
			want = Refuse
		}
		r := Result{At: now, Error: "of before"}
		r.judge(status, http.Header{"Retry-After": {"7"}}, now)
		checkResult(t, r)
		if r.Class != want || r.Status != status {
			t.Errorf("%d is %v, want %v", status, r.Class, want)
		}
		if alive := want != Retry; r.Alive != alive {
			t.Errorf("%d: alive %v, want %v", status, r.Alive, alive)
		}
		if waits := r.RetryAfter == 7*time.Second; waits != (want == Retry) {
			t.Errorf("%d with Retry-After waits %v", status, r.RetryAfter)
		}
		if want != Accepted && !strings.HasPrefix(r.Error, fmt.Sprint(status)) {
			t.Errorf("the error of %d is %q", status, r.Error)
		}
	}
}

// TestRedirectsLeadNowhere: whatever a redirect's status and place, nobody is
// dialled but the target, and the error names the place.
func TestRedirectsLeadNowhere(t *testing.T) {
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			trap := receive(t, listen(t), answering(ok))
			r := receive(t, listen(t), answering(fmt.Sprintf(
				"HTTP/1.1 %d Moved\r\nLocation: %s/away\r\nContent-Length: 0\r\n\r\n", status, trap.url())))
			p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{})
			want{Retry, status, false, "it leads to " + trap.url() + "/away"}.check(t, post(t, p))
			if n := trap.conns.Load(); n != 0 {
				t.Errorf("the redirect's place saw %d connections", n)
			}
		})
	}
}

// TestThePlaceOfARedirectIsFitToBeShown: without userinfo, query and fragment,
// cut, and without a character that a terminal would act upon.
func TestThePlaceOfARedirectIsFitToBeShown(t *testing.T) {
	for location, want := range map[string]string{
		"https://other.example/hook": "https://other.example/hook",
		"/login":                     "/login",
		"https://user:secret@other.example/hook?token=secret": "https://other.example/hook",
		"//user:secret@other.example/hook#secret":             "//other.example/hook",
		"mailto:secret@other.example":                         "mailto:…",
		"https://other.example/\x1b[31m":                      "a place that is no URL",
		"https://other.example/a\u202eb":                      "https://other.example/a%E2%80%AEb",
		"https://other.example:port/":                         "a place that is no URL",
		"https://o\u202e.example/\xff":                        "https://o%E2%80%AE.example/%FF",
	} {
		if got := place(location); got != want {
			t.Errorf("%q is shown as %q, want %q", location, got, want)
		}
	}
	if got := place("https://other.example/" + strings.Repeat("a", 60_000)); len(got) != maxPlace || !strings.HasSuffix(got, "…") {
		t.Errorf("a long place is shown as %q, of %d bytes", got, len(got))
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                                 0,
		"0":                                0,
		"7":                                7 * time.Second,
		" 7 ":                              7 * time.Second,
		"0007":                             7 * time.Second,
		"31536000":                         longestWish,
		"31536001":                         longestWish,
		"9223372036854775807":              longestWish,
		"99999999999999999999999999":       longestWish,
		"-7":                               0,
		"+7":                               0,
		"1.5":                              0,
		"1e3":                              0,
		"7s":                               0,
		"7, 8":                             0,
		"٧":                                0,
		"soon":                             0,
		"Thu, 01 Jan 2026 12:00:07 GMT":    7 * time.Second,
		"Thu, 01 Jan 2026 11:00:00 GMT":    0,
		"Thursday, 01-Jan-26 12:00:07 GMT": 7 * time.Second,
		"Thu Jan  1 12:00:07 2026":         7 * time.Second,
		"Fri, 31 Dec 9999 23:59:59 GMT":    longestWish,
		"Mon, 01 Jan 0001 00:00:00 GMT":    0,
		"2026-01-01T12:00:07Z":             0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q waits %v, want %v", value, got, want)
		}
	}
}

// TestAWishToWaitIsHeard: on any answer that is retried, over the wire.
func TestAWishToWaitIsHeard(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, status := range []int{302, 408, 429, 500, 503} {
		for value, want := range map[string]time.Duration{
			"7": 7 * time.Second, "Thu, 01 Jan 2026 12:01:00 GMT": time.Minute, "tomorrow": 0,
		} {
			r := receive(t, listen(t), answering(fmt.Sprintf("HTTP/1.1 %d X\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n", status, value)))
			p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{Now: func() time.Time { return now }})
			if got := post(t, p); got.RetryAfter != want || got.Class != Retry || !got.At.Equal(now) {
				t.Errorf("%d with %q: %+v, want to wait %v", status, value, got, want)
			}
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "7", "99999999999999999999", "Thu, 01 Jan 2026 12:00:07 GMT", "-1", "1.5"} {
		f.Add(seed, int64(0))
	}
	f.Fuzz(func(t *testing.T, value string, now int64) {
		if got := retryAfter(value, time.Unix(now, 0)); got < 0 || got > longestWish {
			t.Errorf("%q waits %v", value, got)
		}
	})
}

// FuzzPrintable: what comes out is valid, short, and acts upon no terminal; text
// that is all that already comes out as it is.
func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{"", "plain", "\x00\x1b[31m\xff", "\u202e\u2028", strings.Repeat("é", 200), strings.Repeat("\xff", 200)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := printable(text, maxError)
		checkResult(t, Result{Class: Retry, Error: strings.ReplaceAll(got, "secret", "") + ".", At: time.Unix(0, 0).UTC()}.cut())
		if again := printable(got, maxError); again != got {
			t.Errorf("%q comes out as %q, and that as %q", text, got, again)
		}
	})
}

// cut takes the full stop away again where it is one too many.
func (r Result) cut() Result {
	if len(r.Error) > 300 {
		r.Error = strings.TrimSuffix(r.Error, ".")
	}
	return r
}

// TestPrintableKeepsWhatFits: text of graphic characters is not changed up to the
// limit, and cut between two characters above it.
func TestPrintableKeepsWhatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("aé€😀 ")), 0, 40, -1).Draw(t, "text")
		limit := rapid.IntRange(4, 60).Draw(t, "limit")
		got := printable(text, limit)
		switch {
		case len(text) <= limit && got != text:
			t.Errorf("%q becomes %q", text, got)
		case len(text) > limit:
			kept, whole := strings.CutSuffix(got, "…")
			if !whole || !strings.HasPrefix(text, kept) || len(got) > limit || len(got) < limit-3 {
				t.Errorf("%q is cut to %q at %d", text, got, limit)
			}
		}
	})
}
