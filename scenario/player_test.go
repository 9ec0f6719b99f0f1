package scenario

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// player plays one transcript.
type player struct {
	t       *testing.T
	server  *servertest.Server
	streams map[string]*line
	ids     map[string]string
}

// line is a named stream of the transcript.
type line struct {
	*servertest.Stream
	stalled *servertest.Stalled
	path    string
	last    string
}

func itoa(n int) string { return strconv.Itoa(n) }

// play returns the transcript with the answers the server gave.
func (p *player) play(text string) string {
	var out []string
	skipping := false
	for _, l := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(l, "> "):
			out = append(out, l)
			if answer := p.normalise(p.step(strings.TrimPrefix(l, "> "))); answer != "" {
				out = append(out, strings.Split(answer, "\n")...)
			}
			skipping = true
		case l == "" || strings.HasPrefix(l, "#"):
			out = append(out, l)
			skipping = false
		case !skipping:
			p.t.Fatalf("a line that is no step, no prose and no answer: %q", l)
		}
	}
	return strings.Join(out, "\n")
}

func (p *player) step(text string) string {
	p.t.Helper()
	words := strings.SplitN(text, " ", 4)
	switch {
	case words[0] == "serve":
		p.serve(words[1])
		return ""
	case text == "stop":
		p.server.Stop()
		return ""
	case text == "start":
		p.server.Start()
		return ""
	case text == "restart":
		p.server.Restart()
		return ""
	case text == "kill -9":
		p.server.Kill()
		return ""
	case len(words) == 2 || words[1] == "reads" || words[1] == "hangs":
		return p.onStream(p.streams[words[0]], words[1:])
	case words[1] == "opens", words[1] == "resumes", words[1] == "stalls":
		return p.open(p.caller(words[0]), words[1], words[2], words[3])
	default:
		body := ""
		if len(words) == 4 {
			body = p.fill(words[3])
		}
		a := p.caller(words[0]).Do(words[1], p.fill(words[2]), body)
		return strings.TrimSuffix(itoa(a.Status)+"\n"+strings.TrimSuffix(a.Body, "\n"), "\n")
	}
}

func (p *player) serve(schema string) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "schema", schema+".yaml"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.server = servertest.StartProcess(p.t, servertest.Options{Schema: string(text)})
}

// caller makes name:role,role a caller.
func (p *player) caller(who string) *servertest.Caller {
	name, roles, has := strings.Cut(who, ":")
	if name == "nobody" {
		return p.server.As("")
	}
	if !has {
		return p.server.User(name)
	}
	return p.server.User(name, strings.Split(roles, ",")...)
}

func (p *player) open(c *servertest.Caller, how, name, path string) string {
	p.t.Helper()
	path = p.fill(path)
	switch how {
	case "stalls":
		p.streams[name] = &line{stalled: c.Stall(path), path: path}
		return ""
	case "resumes":
		c = c.With("Last-Event-ID", p.streams[name].last)
	}
	l := &line{Stream: c.Connect(path), path: path}
	p.streams[name] = l
	return strings.TrimSuffix(l.Next().Raw, "\n")
}

func (p *player) onStream(l *line, words []string) string {
	p.t.Helper()
	if l == nil {
		p.t.Fatalf("no such stream for %v", words)
	}
	switch words[0] {
	case "hangs":
		l.Close()
		return ""
	case "ends":
		var out []string
		for _, b := range l.End() {
			out = append(out, strings.TrimSuffix(b.Raw, "\n"))
		}
		return strings.Join(out, "\n")
	}
	if words[1] == "on," {
		return p.readOn(l, words[2])
	}
	n, err := strconv.Atoi(words[1])
	if err != nil {
		p.t.Fatalf("reads %q", words)
	}
	var out []string
	for range n {
		f := l.Frame()
		l.last = f.ID
		out = append(out, strings.TrimSuffix(f.Raw, "\n"))
	}
	return strings.Join(out, "\n")
}

// readOn reads N blocks after a stall and shows the first and the last.
func (p *player) readOn(l *line, count string) string {
	p.t.Helper()
	n, err := strconv.Atoi(strings.Fields(count)[0])
	if err != nil {
		p.t.Fatalf("reads on, %q", count)
	}
	l.Stream = l.stalled.Resume()
	first := l.Frame()
	last := first
	for range n - 1 {
		last = l.Frame()
	}
	return strings.TrimSuffix(first.Raw, "\n") + "\n...\n" + strings.TrimSuffix(last.Raw, "\n")
}

var (
	ulids     = regexp.MustCompile(`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`)
	named     = regexp.MustCompile(`\bID[0-9]+\b`)
	times     = regexp.MustCompile(`\b20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`)
	bookmarks = regexp.MustCompile(`~[A-Za-z0-9_-]{40,}`)
	retries   = regexp.MustCompile(`retry: [1-5][0-9]{3}\n: closing`)
)

// normalise replaces what differs from run to run.
func (p *player) normalise(text string) string {
	text = bookmarks.ReplaceAllString(text, "~BOOKMARK")
	text = retries.ReplaceAllString(text, "retry: 1000 to 5000\n: closing")
	text = times.ReplaceAllString(text, "TIME")
	return ulids.ReplaceAllStringFunc(text, func(id string) string {
		for name, known := range p.ids {
			if known == id {
				return name
			}
		}
		name := "ID" + itoa(len(p.ids)+1)
		p.ids[name] = id
		return name
	})
}

// fill puts the ids of this run where a step names them.
func (p *player) fill(text string) string {
	return named.ReplaceAllStringFunc(text, func(name string) string {
		if id, ok := p.ids[name]; ok {
			return id
		}
		return name
	})
}
