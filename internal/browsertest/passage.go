package browsertest

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"
)

// Passage is a stream that went through a Balancer.
type Passage struct {
	Instance    string    // which answers it: host:port
	LastEventID string    // as the browser sent it
	Began       time.Time // when the request came
	Ended       time.Time // when the instance's answer had ended; zero before

	text []byte
}

// Text returns all that came so far.
func (p Passage) Text() string { return string(p.text) }

var retry = regexp.MustCompile(`(?m)^retry: (\d+)$`)

// Retry returns how long the stream last told its client to wait before it
// reconnects; zero where it did not.
func (p Passage) Retry() time.Duration {
	all := retry.FindAllSubmatch(p.text, -1)
	if len(all) == 0 {
		return 0
	}
	ms, _ := strconv.Atoi(string(all[len(all)-1][1])) // digits alone
	return time.Duration(ms) * time.Millisecond
}

// Streams returns the streams so far, in the order in which they were answered.
func (b *Balancer) Streams() []Passage {
	var all []Passage
	b.look(func() {
		for _, p := range b.streams {
			all = append(all, *p)
		}
	})
	return all
}

// AwaitStream waits until some stream that was answered fits.
func (b *Balancer) AwaitStream(what string, fits func(Passage) bool) {
	b.t.Helper()
	b.await(b.t, func() bool {
		for _, p := range b.streams {
			if fits(*p) {
				return true
			}
		}
		return false
	}, func() string {
		var texts []string
		for _, p := range b.Streams() {
			texts = append(texts, p.Text())
		}
		return fmt.Sprintf("no stream came that %s; there were %q", what, texts)
	})
}

// pass keeps what is read of a stream.
func (b *Balancer) pass(p *Passage, body io.ReadCloser) io.ReadCloser {
	b.tell(func() { b.streams = append(b.streams, p) })
	return &passing{ReadCloser: body, balancer: b, passage: p}
}

// passing is the body of a stream on its way.
type passing struct {
	io.ReadCloser
	balancer *Balancer
	passage  *Passage
}

// Read implements io.Reader.
func (p *passing) Read(buffer []byte) (int, error) {
	n, err := p.ReadCloser.Read(buffer)
	p.balancer.tell(func() {
		p.passage.text = append(p.passage.text, buffer[:n]...)
		if err != nil && p.passage.Ended.IsZero() {
			p.passage.Ended = time.Now()
		}
	})
	return n, err
}
