package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// nearly is a little less than limits.body.
const nearly = 1<<20 - 100

const asJSON = "Content-Type: application/json\r\n"

func TestBodiesThatAreNone(t *testing.T) {
	s := besiege(t, servertest.Options{})
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(`{"id":"zipped"}`))
	_ = z.Close()
	for name, body := range map[string]string{
		"white space":                     " \r\n\t",
		"truncated":                       `{"id":"x","text":"y`,
		"half an escape":                  `{"id":"\u12`,
		"null":                            `null`,
		"an array":                        `[{"id":"x"}]`,
		"a text":                          `"x"`,
		"a number":                        `1`,
		"NaN":                             `{"id":"x","d":NaN}`,
		"Infinity":                        `{"id":"x","d":-Infinity}`,
		"hexadecimal":                     `{"id":"x","n":0x10}`,
		"leading zero":                    `{"id":"x","n":01}`,
		"leading plus":                    `{"id":"x","n":+1}`,
		"bare point":                      `{"id":"x","d":.5}`,
		"a comma too many":                `{"id":"x",}`,
		"a comment":                       `{"id":"x"/* */}`,
		"single quotes":                   `{'id':'x'}`,
		"something after it":              `{"id":"x"}{"id":"y"}`,
		"a byte order mark":               "\xef\xbb\xbf" + `{"id":"x"}`,
		"a key twice":                     `{"id":"x","id":"y"}`,
		"a key twice, once escaped":       `{"id":"x","\u0069d":"y"}`,
		"a key twice, deep":               `{"id":"x","o":{"k":[{"a":1,"a":2}]}}`,
		"NUL, raw":                        "{\"id\":\"x\x00y\"}",
		"NUL, escaped":                    `{"id":"x","text":"a\u0000b"}`,
		"NUL, escaped, in an object":      `{"id":"x","o":{"k":"\u0000"}}`,
		"NUL in a key":                    `{"id":"x","o":{"\u0000":1}}`,
		"a raw line feed in a text":       "{\"id\":\"x\ny\"}",
		"invalid UTF-8":                   "{\"id\":\"x\",\"text\":\"\xff\xfe\"}",
		"invalid UTF-8, overlong":         "{\"id\":\"x\",\"text\":\"\xc0\xaf\"}",
		"invalid UTF-8 in a key":          "{\"id\":\"x\",\"\xff\":1}",
		"half a surrogate pair":           `{"id":"x","text":"\ud800"}`,
		"half a surrogate pair in a list": `{"id":"x","a":["\udc00"]}`,
		"UTF-16":                          "{\x00\"\x00i\x00d\x00\"\x00:\x001\x00}\x00",
		"gzip without saying so":          zipped.String(),
		"10,000 arrays deep":              `{"id":"x","a":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`,
		"10,000 objects deep":             strings.Repeat(`{"o":`, 10000) + "1" + strings.Repeat("}", 10000),
		"a mebibyte of [":                 strings.Repeat("[", nearly),
		"a mebibyte of {":                 strings.Repeat(`{"`, nearly/2),
		"a mebibyte of quotes":            strings.Repeat(`"`, nearly),
	} {
		for _, line := range []string{"POST /data/thing", "PUT /data/thing/seed", "PATCH /data/thing/seed", "PATCH /data/thing?filter[n][eq]=1", "POST /data/transaction", "POST /session"} {
			s.send(s.request(line, asJSON, body)).refused(t, line+": "+name, 400, "malformed_body")
		}
		if name != "an array" && name != "white space" {
			s.send(s.request("POST /data/thing/bulk", asJSON, body)).refused(t, "bulk: "+name, 400, "malformed_body")
			s.send(s.request("POST /data/thing/bulk", asJSON, "[{\"id\":\"first\"},"+body+"]")).refused(t, "in a bulk: "+name, 400, "malformed_body")
		}
		if name != "something after it" && !strings.HasPrefix(name, "white") {
			s.send(s.request("POST /data/thing/bulk", "Content-Type: application/x-ndjson\r\n", "{\"id\":\"first\"}\n"+body)).
				refused(t, "in NDJSON: "+name, 400, "malformed_body")
		}
	}
	s.send(s.request("POST /data/thing", asJSON+"Content-Encoding: gzip\r\n", zipped.String())).refused(t, "gzip", 415, "unsupported_media_type")
	s.unharmed()
}

func TestBodiesOfTheWrongKindOrSize(t *testing.T) {
	s := besiege(t, servertest.Options{})
	const body = `{"id":"x"}`
	for _, headers := range []string{
		"", "Content-Type: \r\n", "Content-Type: text/plain\r\n", "Content-Type: application/json; charset=utf-16\r\n", "Content-Type: application/json;;;=\r\n",
		"Content-Type: application/json, text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n", "Content-Type: multipart/form-data; boundary=x\r\n",
		"Content-Type: application/jsonx\r\n", asJSON + "Content-Encoding: br\r\n", asJSON + "Content-Encoding: identity, gzip\r\n",
	} {
		for _, line := range []string{"POST /data/thing", "POST /data/thing/bulk", "PATCH /data/thing/seed", "POST /data/transaction"} {
			s.send(s.request(line, headers, body)).refused(t, line+" "+headers, 415, "unsupported_media_type")
		}
	}
	over := `{"id":"x","text":"` + strings.Repeat("x", 1<<20) + `"}`
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(over), over)
	for _, line := range []string{"POST /data/thing", "PUT /data/thing/seed", "POST /data/thing/bulk", "POST /data/transaction", "PATCH /data/thing?filter[n][eq]=1"} {
		s.send(s.request(line, asJSON, over)).refused(t, line+": over the limit", 413, "body_too_large")
		s.send(s.request(line, asJSON+"Transfer-Encoding: chunked\r\n", "")+chunked).refused(t, line+": over the limit, in a chunk", 413, "body_too_large")
		a := s.send(s.request(line, asJSON+"Expect: 100-continue\r\nContent-Length: 999999999999\r\n", ""))
		a.refused(t, line+": asked before it is sent", 413, "body_too_large")
		s.send(s.request(line, asJSON+"Content-Length: 9223372036854775807\r\n", "")).refused(t, line+": a length beyond all", 413, "body_too_large")
	}
	for name, framing := range map[string]string{
		"length, then the end":       "Content-Length: 100\r\n\r\n" + body,
		"chunked, then the end":      "Transfer-Encoding: chunked\r\n\r\na\r\n" + body,
		"a chunk that is none":       "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + body,
		"a chunk beyond all":         "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n" + body,
		"a chunk longer than it is":  "Transfer-Encoding: chunked\r\n\r\n5\r\n" + body + "\r\n0\r\n\r\n",
		"no body where one is asked": "Content-Length: 0\r\n\r\n",
	} {
		conn := s.dial()
		_, _ = conn.Write([]byte(strings.TrimSuffix(s.request("POST /data/thing", asJSON, ""), "\r\n") + framing))
		_ = conn.CloseWrite()
		s.readFrom(conn).refused(t, name, 400, "malformed_body")
	}
	s.unharmed()
}

// Lengths and encodings that contradict each other are how requests are
// smuggled past a proxy: they end the connection.
func TestContradictoryFramingEndsTheConnection(t *testing.T) {
	s := besiege(t, servertest.Options{})
	const hidden = "POST /data/thing HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"id\":\"hidden\"}"
	for name, framing := range map[string]string{
		"two lengths":             "Content-Length: 10\r\nContent-Length: 11\r\n",
		"a list of lengths":       "Content-Length: 10, 11\r\n",
		"a negative length":       "Content-Length: -1\r\n",
		"a signed length":         "Content-Length: +10\r\n",
		"an encoding of its own":  "Transfer-Encoding: xchunked\r\n",
		"two encodings":           "Transfer-Encoding: gzip, chunked\r\n",
		"an encoding, twice":      "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
		"a space before a colon":  "Content-Length : 10\r\n",
		"a folded header":         "X-A: b\r\n c: d\r\n : e\r\n",
		"a header without a name": ": x\r\n",
		"a NUL in a header":       "X-A: a\x00b\r\n",
		"a bare CR in a header":   "X-A: a\rContent-Length: 10\r\n",
	} {
		conn := s.dial()
		_, _ = conn.Write([]byte(s.request("POST /data/thing", asJSON+framing, "") + `{"id":"y"}` + hidden))
		_ = conn.CloseWrite()
		a := s.readFrom(conn)
		if a.Status != 0 && (a.Status < 400 || a.Status >= 500) && a.Status != 501 {
			t.Errorf("%s: answered %d %s", name, a.Status, a.Body)
		}
	}
	s.unharmed()
}

func TestValuesOutsideTheirTypes(t *testing.T) {
	s := besiege(t, servertest.Options{})
	for _, member := range []string{
		`"n":2147483648`, `"n":-2147483649`, `"n":1.5`, `"n":1e10`, `"n":1e999999999`, `"n":-1e-999999999`, `"n":"1"`, `"n":true`, `"n":[1]`, `"n":{}`,
		`"n":` + strings.Repeat("9", 100000), `"n":0.` + strings.Repeat("0", 100000) + "1",
		`"big":9223372036854775808`, `"big":-9223372036854775809`, `"big":9007199254740993.5`, `"big":1e19`,
		`"d":1e400`, `"d":-1e400`, `"d":"NaN"`, `"d":"Infinity"`, `"d":"1"`,
		`"ok":1`, `"ok":"true"`, `"at":"yesterday"`, `"at":"2026-02-30T00:00:00Z"`, `"at":"2026-01-01T25:00:00Z"`, `"at":1`, `"at":"2026-01-01 00:00:00"`,
		`"at":"10000-01-01T00:00:00Z"`, `"day":"2026-13-01"`, `"day":"26-1-1"`, `"u":"x"`, `"u":"{00000000-0000-0000-0000-000000000000}"`,
		`"o":[]`, `"o":"{}"`, `"a":{}`, `"a":"[]"`, `"b":"***"`, `"b":"YQ"`, `"b":[1,2]`, `"kind":"SMALL"`, `"kind":"small "`, `"kind":0`, `"text":1`, `"text":{}`, `"text":["a"]`,
		`"nothing":1`, `"__proto__":{}`, `"ID":"x"`, `"deletedon":"2026-01-01T00:00:00Z"`, `"deletedby":"ann"`, `"":1`, `"` + strings.Repeat("k", 100000) + `":1`,
		`"text; DROP TABLE thing":1`, `"\u2028":1`, `"\r\n":1`,
	} {
		for _, line := range []string{"POST /data/thing", "PUT /data/thing/seed", "PATCH /data/thing/seed", "PATCH /data/thing?filter[n][eq]=1"} {
			s.send(s.request(line, asJSON, "{"+member+"}")).refused(t, fmt.Sprintf("%s %.60s", line, member), 422, "invalid")
		}
		s.send(s.request("POST /data/thing/bulk", asJSON, `[{"id":"first"},{"id":"second",`+member+`}]`)).refused(t, fmt.Sprintf("bulk %.60s", member), 422, "invalid")
		s.send(s.request("POST /data/transaction", asJSON, `{"writes":[{"op":"create","entity":"thing","data":{"id":"first"}},{"op":"update","entity":"thing","id":"seed","data":{`+member+`}}]}`)).
			refused(t, fmt.Sprintf("transaction %.60s", member), 422, "invalid")
	}
	for _, body := range []string{`{}`, `{"id":""}`, `{"id":null}`, `{"id":5}`, `{"id":["x"]}`} {
		s.send(s.request("POST /data/thing", asJSON, body)).refused(t, body, 422, "invalid")
	}
	for _, id := range []string{"9223372036854775808", "1.5", `"1"`, "1e400"} {
		s.send(s.request("POST /data/count", asJSON, `{"id":`+id+`}`)).refused(t, "count "+id, 422, "invalid")
	}
	s.unharmed()
}

// A flood of faults in one body is answered with the first of them: the answer
// is not larger than the question.
func TestABodyOfFaultsIsNotAnsweredByAFlood(t *testing.T) {
	s := besiege(t, servertest.Options{})
	var body strings.Builder
	body.WriteString(`{"id":"x"`)
	for i := range 60000 {
		fmt.Fprintf(&body, `,"k%d":1`, i)
	}
	body.WriteString("}")
	s.send(s.request("POST /data/thing", asJSON, body.String())).refused(t, "60,000 unknown fields", 422, "invalid")
	s.send(s.request("POST /data/thing/bulk", asJSON, "["+strings.Repeat(`{"k":1},`, 9000)+`{"k":1}]`)).refused(t, "9,001 bad rows", 422, "invalid")
	s.unharmed()
}

func TestMoreRowsThanOneRequestMayWrite(t *testing.T) {
	s := besiege(t, servertest.Options{})
	row := func(i int) string { return fmt.Sprintf(`{"id":"r%d"}`, i) }
	rows := make([]string, 10001)
	for i := range rows {
		rows[i] = row(i)
	}
	s.send(s.request("POST /data/thing/bulk", asJSON, "["+strings.Join(rows, ",")+"]")).refused(t, "bulk", 413, "too_many_rows")
	s.send(s.request("POST /data/thing/bulk", "Content-Type: application/x-ndjson\r\n", strings.Join(rows, "\n"))).refused(t, "NDJSON", 413, "too_many_rows")
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"op":"create","entity":"thing","data":{"id":"%d"}}`, i)
	}
	s.send(s.request("POST /data/transaction", asJSON, `{"writes":[`+strings.Join(rows, ",")+"]}")).refused(t, "transaction", 413, "too_many_rows")
	s.unharmed()
}
