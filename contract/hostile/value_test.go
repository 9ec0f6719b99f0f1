package hostile

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// strange are texts that a row may hold and a stream must not stumble over.
func strange() map[string]string {
	all := map[string]string{
		"a line feed": "a\nb", "a carriage return": "a\rb", "both": "a\r\nb", "the end of a frame": "a\n\nid: 5\nevent: entity.delete\ndata: {}\n\n",
		"a line separator": "a\u2028b", "a paragraph separator": "a\u2029b", "a next line": "a\u0085b", "a form feed and a tab": "\f\t\v",
		"all controls": controls(), "a backslash": `\`, "a quote": `"`, "markup": "</script><!--", "another plane": "\U0001F600\U0010FFFF",
		"a noncharacter": "\uFFFE\uFFFF", "a byte order mark": "\uFEFFx", "right to left": "\u202Egnp.exe", "combining": "e\u0301" + strings.Repeat("\u0301", 500),
		"a replacement character": "\uFFFD", "a comment of a stream": ": ping", "a bookmark": "~AAAA", "white space": "   ", "SQL": `'; DROP TABLE thing; --`,
		"slashes": "a/b//c/", "a step up": "..", "a place": ".", "a way up": "../../etc/passwd", "a percent sign": "100%", "an escape": "%2F%00%zz", "a question": "?a=b&c#d", "a semicolon": ";x",
		"the word bulk": "bulk", "the word restore": "restore", "a plus": "a+b c", "pattern signs": "%_*", "null": "null", "a number": "9007199254740993",
	}
	return all
}

func controls() string {
	var b strings.Builder
	for c := rune(1); c < 0x20; c++ {
		b.WriteRune(c)
	}
	return b.String() + "\x7f\u0080\u009f"
}

// Whatever a value or an id holds, its frame is one block of three lines, the
// frame and GET show the very text that was sent, and Location leads to the row.
func TestStrangeTextsStayInTheirFrame(t *testing.T) {
	s := besiege(t, servertest.Options{})
	rows := s.ann.Open("/subscribe/thing?name=rows")
	for name, text := range strange() {
		body, err := json.Marshal(map[string]any{"id": text, "text": text, "o": map[string]any{text: text}, "a": []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		made := s.ann.Post("/data/thing", string(body)).Is(201)
		frame := rows.Frame()
		if n := strings.Count(frame.Raw, "\n"); n != 3 || strings.ContainsAny(frame.Raw, "\r\u2028\u2029\u0085\x00") {
			t.Errorf("%s: the frame has %d lines or breaks one: %q", name, n, frame.Raw)
		}
		if frame.Subject() != text {
			t.Errorf("%s: subject %q, want %q", name, frame.Subject(), text)
		}
		read := s.ann.Get(made.Header.Get("Location")).Is(200)
		if read.Body != frame.Row() {
			t.Errorf("%s: frame %q\nGET %q", name, frame.Row(), read.Body)
		}
		if doc := read.JSON(); doc["id"] != text || doc["text"] != text || fmt.Sprint(doc["o"]) != fmt.Sprint(map[string]any{text: text}) {
			t.Errorf("%s: read back as %q", name, read.Body)
		}
		found := s.ann.Get("/data/thing?filter[text][eq]=" + url.QueryEscape(text)).Is(200).JSON()["items"]
		if items, ok := found.([]any); text != "null" && (!ok || len(items) != 1) { // null is the literal there
			t.Errorf("%s: a filter finds %v", name, found)
		}
		s.ann.Patch(made.Header.Get("Location"), `{"n":5}`).Is(200)
		if frame := rows.Frame(); frame.Subject() != text || frame.Event != "entity.update" {
			t.Errorf("%s: the update shows %q", name, frame.Raw)
		}
		s.ann.Delete(made.Header.Get("Location")).Is(204)
		rows.Frame()
		s.ann.Delete(made.Header.Get("Location") + "/purge").Is(204)
		rows.Frame()
		for range 4 {
			s.watch.Frame()
		}
	}
	rows.Close()
	s.unharmed()
}

// Numbers at the edge of what fits come back exactly, on GET and in a frame.
func TestNumbersAtTheEdge(t *testing.T) {
	s := besiege(t, servertest.Options{})
	rows := s.ann.Open("/subscribe/thing?name=rows")
	for _, c := range []struct{ field, sent, want string }{
		{"n", "2147483647", "2147483647"}, {"n", "-2147483648", "-2147483648"}, {"n", "-0", "0"}, {"n", "1.0", "1"}, {"n", "1e3", "1000"},
		{"big", "9007199254740993", "9007199254740993"}, {"big", "9223372036854775807", "9223372036854775807"}, {"big", "-9223372036854775808", "-9223372036854775808"},
		{"big", "-0", "0"}, {"big", "0e999999999999999999", "0"}, {"big", "922337203685477580700e-2", "9223372036854775807"},
		{"d", "1e308", "1e+308"}, {"d", "5e-324", "5e-324"}, {"d", "1e-400", "0"}, {"d", "0.1", "0.1"}, {"d", "1e21", "1e+21"}, {"d", "123456789012345680000", "123456789012345680000"},
		{"d", "2.2250738585072011e-308", "2.225073858507201e-308"},
		{"o", `{"n":1e400,"m":-0,"k":9007199254740993}`, `{"n":1e400,"m":-0,"k":9007199254740993}`},
	} {
		made := s.ann.Post("/data/thing", fmt.Sprintf(`{"id":"edge","%s":%s}`, c.field, c.sent)).Is(201)
		want := fmt.Sprintf(`"%s":%s,`, c.field, c.want)
		frame := rows.Frame().Row()
		for what, got := range map[string]string{"POST": made.Body, "GET": s.ann.Get("/data/thing/edge").Is(200).Body, "the frame": frame} {
			if !strings.Contains(got, want) {
				t.Errorf("%s of %s: %s shows %s, want %s", c.field, c.sent, what, got, want)
			}
		}
		s.ann.Delete("/data/thing/edge/purge").Is(204)
		rows.Frame()
		s.watch.Frame()
		s.watch.Frame()
	}
	rows.Close()
	s.unharmed()
}

// A row of the largest body there may be travels whole, and alone.
func TestALargestRow(t *testing.T) {
	s := besiege(t, servertest.Options{})
	rows := s.ann.Open("/subscribe/thing?name=rows")
	for _, c := range []string{"x", `\n`, `\u2028`, `\u0001`, "😀", `\"`} {
		head := `{"id":"large","text":"`
		body := head + strings.Repeat(c, (1<<20-len(head)-2)/len(c)) + `"}`
		s.ann.Post("/data/thing", body).Is(201)
		frame := rows.Frame()
		if got := s.ann.Get("/data/thing/large").Is(200).Body; got != frame.Row() {
			t.Errorf("%s: the frame has %d bytes, GET %d", c, len(frame.Row()), len(got))
		}
		if n := strings.Count(frame.Raw, "\n"); n != 3 {
			t.Errorf("%s: %d lines", c, n)
		}
		s.ann.Delete("/data/thing/large/purge").Is(204)
		rows.Frame()
		s.watch.Frame()
		s.watch.Frame()
	}
	rows.Close()
	s.unharmed()
}

// A principal's name is the issuer's to choose: it may hold anything that a
// text may, and breaks neither frame, header nor list.
func TestStrangePrincipals(t *testing.T) {
	s := besiege(t, servertest.Options{})
	for name, sub := range strange() {
		eve := s.User(sub)
		answer := eve.Get("/data/note")
		if answer.Status == 401 {
			continue // refused as a name is an answer too
		}
		stream := eve.Open("/subscribe/note")
		made := eve.Post("/data/note", `{"text":"x"}`).Is(201)
		frame := stream.Frame()
		if n := strings.Count(frame.Raw, "\n"); n != 3 || strings.ContainsAny(frame.Raw, "\r\u2028\u2029\u0085\x00") {
			t.Errorf("%s: the frame breaks: %q", name, frame.Raw)
		}
		if owner := made.JSON()["owner_id"]; owner != sub || made.Body != frame.Row() {
			t.Errorf("%s: owner %q, frame %s", name, owner, frame.Row())
		}
		s.User("root", "admin").Get("/admin/data/streams").Is(200).JSON()
		eve.Delete("/data/note/" + made.ID()).Is(204)
		stream.Frame()
		stream.Close()
	}
	s.unharmed()
}
