package stream

import (
	"slices"
	"testing"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/schema"
)

// The route: defaults, ranges, and an error for whatever lies outside.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		query string
		code  fault.Code // "": accepted
	}{
		{"", ""},
		{"name=mine&ops=create,update&heartbeat=1s&lifetime=4h&leave=true&lastEventId=x", ""},
		{"heartbeat=5m&lifetime=1s", ""},
		{"heartbeat=999ms", fault.BadHeartbeat},
		{"heartbeat=5m1s", fault.BadHeartbeat},
		{"heartbeat=25", fault.BadHeartbeat},
		{"heartbeat=", fault.BadHeartbeat},
		{"heartbeat=-1s", fault.BadHeartbeat},
		{"heartbeat=1s&heartbeat=2s", fault.BadHeartbeat},
		{"lifetime=0s", fault.BadLifetime},
		{"lifetime=4h1s", fault.BadLifetime},
		{"lifetime=forever", fault.BadLifetime},
		{"ops=create&ops=update", fault.BadOps},
		{"leave=yes", fault.BadParameter},
		{"op=create", fault.BadParameter},
		{"name=%zz", fault.BadParameter},
		{"name=a;b", fault.BadParameter},
	} {
		_, err := parseParameters(c.query)
		if f, ok := fault.Of(err); (c.code == "") != (err == nil) || (ok && f.Code != c.code) {
			t.Errorf("%q: got %v, want code %q", c.query, err, c.code)
		}
	}
	p, _ := parseParameters("")
	if p.heartbeat != 25*time.Second || p.lifetime != 30*time.Minute || p.leave {
		t.Errorf("defaults: %+v", p)
	}
}

// The route: ops narrows and never widens.
func TestNarrow(t *testing.T) {
	declared := schema.OpSet(schema.Create | schema.Update)
	for text, want := range map[string]schema.OpSet{
		"create": schema.OpSet(schema.Create), "create,update": declared, "update,create": declared,
		"delete": 0, "create,delete": 0, "": 0, "CREATE": 0, "create,": 0, " create": 0,
	} {
		got, err := narrow(declared, text)
		if (want == 0) != fault.Is(err, fault.BadOps) || got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
		if f, ok := fault.Of(err); ok && !slices.Equal(f.Available, []string{"create", "update"}) {
			t.Errorf("%q: available %v", text, f.Available)
		}
	}
}

// A bookmark is opaque, different each time, and opened by its own key alone.
func TestBookmark(t *testing.T) {
	s, err := newSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	at := store.Position{Seq: 42, EventID: "01M2P1R18V26CMVBZ1DC0AS1Z1"}
	one, two := s.seal(at), s.seal(at)
	if one == two {
		t.Error("two seals of one position are alike: the nonce is not fresh")
	}
	if got, err := s.open(one); err != nil || got != at {
		t.Errorf("got %v, %v; want %v", got, err, at)
	}
	key := make([]byte, 32)
	key[0] = 1
	other, err := newSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"cut": one[:len(one)-2], "changed": one[:5] + "A" + one[6:], "empty": "~", "no base64": "~***", "a ULID": "~" + at.EventID,
		"another datastore's": other.seal(at),
	} {
		if got, err := s.open(bad); err == nil && bad != one {
			t.Errorf("%s: opened as %v", name, got)
		}
	}
}

func FuzzBookmark(f *testing.F) {
	s, err := newSealer(make([]byte, 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("~")
	f.Add(s.seal(store.Position{Seq: 1, EventID: "x"}))
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := s.open(bookmarkMark + text); err == nil && len(text) < 40 {
			t.Errorf("%q was opened", text)
		}
	})
}

// Streams are bounded per principal and in all; places come back.
func TestLimit(t *testing.T) {
	l := Limit{PerPrincipal: 2, Total: 4}
	ann, bob := &access.Principal{ID: "ann", Tenant: "t"}, &access.Principal{ID: "bob", Tenant: "t"}
	nobody := &access.Principal{Anonymous: true, Tenant: "t"}
	must := func(p *access.Principal, ok bool, what string) {
		t.Helper()
		if err := l.Enter(p); (err == nil) != ok || (err != nil && !fault.Is(err, fault.TooManyStreams)) {
			t.Errorf("%s: got %v, want accepted %v", what, err, ok)
		}
	}
	must(ann, true, "first")
	must(ann, true, "second")
	must(ann, false, "third of one principal")
	must(&access.Principal{ID: "ann", Tenant: "u"}, true, "the same id in another tenant")
	must(bob, true, "fourth in all")
	must(nobody, false, "fifth in all")
	l.Leave(ann)
	l.Leave(bob)
	must(nobody, true, "anonymous")
	must(ann, true, "after one has left")
}
