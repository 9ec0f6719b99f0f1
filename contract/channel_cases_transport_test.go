package contract

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowcast/rowcast"
	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/servertest"
)

// caseBroker is a transport of a case.
type caseBroker struct {
	caseTransport
	events chan event.ChannelEvent
}

func (b *caseBroker) Name() string { return b.caseTransport.Name }

func (b *caseBroker) Publish(_ context.Context, e event.ChannelEvent) error {
	if b.Fails {
		return errors.New("it was to fail")
	}
	b.events <- e
	return nil
}

// next is what comes next of something that must come.
func next[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(time.Minute):
		t.Fatal("nothing comes")
	}
	return v
}

// publishes runs a case of transports: what each is told, in order, and the
// errors; a last write proves that nothing else came.
func (all *channelCases) publishes(t *testing.T, c channelLine) {
	var want struct {
		Refused       bool
		Published     map[string][]any
		PublishErrors [][2]string
	}
	if err := json.Unmarshal(c.Expect, &want); err != nil {
		t.Fatal(err)
	}
	brokers, failed := map[string]*caseBroker{}, make(chan [3]string, 100)
	options := all.options(c)
	options.Embed = func(config *rowcast.Config) {
		for _, one := range c.Transports {
			if one.Nil {
				config.Transports = append(config.Transports, nil)
				continue
			}
			brokers[one.Name] = &caseBroker{one, make(chan event.ChannelEvent, 100)}
			config.Transports = append(config.Transports, brokers[one.Name])
		}
		config.OnPublishError = func(transport string, e event.ChannelEvent, _ error) {
			failed <- [3]string{transport, string(e.Event), e.ID}
		}
	}
	if want.Refused {
		t.Log(servertest.Refusal(t, options))
		return
	}
	s := servertest.Start(t, options)
	for _, step := range c.Do {
		all.caller(s, step.As, step.Headers).Do(step.Method, step.Path, string(step.Body)).Is(201)
	}
	all.caller(s, "staff", nil).Post("/data/book", `{"id":"the end","title":"x"}`).Is(201)
	for name, b := range brokers {
		if b.Fails {
			continue
		}
		for _, w := range want.Published[name] {
			if diff := cmp.Diff(w, published(t, next(t, b.events))); diff != "" {
				t.Errorf("%s is told otherwise:\n%s", name, diff)
			}
		}
		if e := next(t, b.events); e.ID != "the end" {
			t.Errorf("%s is also told %+v", name, e)
		}
	}
	for _, w := range want.PublishErrors {
		if got := next(t, failed); got[0] != w[0] || got[1] != w[1] {
			t.Errorf("told of the failure %v, want %v", got, w)
		}
	}
	if len(want.PublishErrors) > 0 {
		if got := next(t, failed); got[2] != "the end" {
			t.Errorf("also told of the failure %v", got)
		}
	} else if len(failed) > 0 {
		t.Errorf("told of a failure: %v", <-failed)
	}
}

// published is an event as a case writes it, without its time.
func published(t *testing.T, e event.ChannelEvent) any {
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if at, _ := doc["occurredAt"].(string); at == "" {
		t.Errorf("no time in %s", text)
	}
	delete(doc, "occurredAt")
	return doc
}
