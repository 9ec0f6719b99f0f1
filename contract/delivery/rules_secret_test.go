package delivery

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// A target's secrets, the values of its headers and the query of its url are
// nobody's business but the receiver's: they stand in no log, also at debug, in no
// answer to an operator, in no metric and in no error, even where a receiver echoes
// all it was sent or redirects to it.
func TestSecretsAppearNowhere(t *testing.T) {
	t.Parallel()
	const signing, former, header, query = "sesame-signing-secret", "sesame-former-secret", "Bearer sesame-header", "sesame-query"
	receivers, targets := map[string]*servertest.Receiver{}, []string{}
	for name, replies := range map[string]func(string) servertest.Reply{
		"echo400": func(echo string) servertest.Reply {
			return servertest.Reply{Status: 400, Body: echo, Header: http.Header{"X-Echo": {echo}}}
		},
		"echo500": func(echo string) servertest.Reply { return servertest.Reply{Status: 500, Body: echo} },
		"redirect": func(echo string) servertest.Reply {
			return servertest.Reply{Status: 302, Header: http.Header{"Location": {"https://u:" + query + "@a.example/?token=" + query}}, Body: echo}
		},
		"drops": nil,
	} {
		r := servertest.Receive(t)
		r.Trust(signing)
		if replies == nil {
			r.Down()
		}
		r.ReplyWith(func(got servertest.Received) servertest.Reply {
			return replies(signing + " " + got.Header.Get("Authorization") + " " + got.Path)
		})
		receivers[name] = r
		targets = append(targets, name+`: {url: "`+r.URL+"/hooks?token="+query+`", secret: ["`+signing+`", "`+former+`"], `+noteTopic+`, headers: {Authorization: "`+header+`"}}`)
	}
	s := servertest.StartProcess(t, servertest.Options{Schema: market, Targets: targets, Boot: "log: {level: debug}\n"})
	ann, d := s.User("ann"), deskOf(t, s)
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} { // enough to open breakers, which is logged
		ann.Post("/data/note", `{"id":"`+id+`"}`).Is(201)
	}
	items := d.until("an attempt at each target", func(items []queued) bool {
		for name := range receivers {
			if d.of(items, name).Attempts == 0 {
				return false
			}
		}
		return true
	})
	shown := map[string]string{"metrics": s.Metrics().Text}
	for name := range receivers {
		shown["test "+name] = d.Post(events+"test", `{"target":"`+name+`"}`).Is(200).Body
		shown["attempts "+name] = d.Get(events + "attempts?id=" + d.of(items, name).ID).Is(200).Body
	}
	for _, path := range []string{
		events + "pending?limit=100", events + "stats", events + "pending?target=nobody", "/openapi.json", "/asyncapi.json", "/admin/data/streams", "/healthz", "/readyz", "/",
	} {
		shown[path] = d.Get(path).Body
	}
	shown["requeue"] = d.Post(events+"requeue", `{"target":"echo400"}`).Is(200).Body
	shown["drain"] = d.Post(events+"drain", "").Body
	s.Stop()
	log, err := os.ReadFile(filepath.Join(s.Dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	if shown["log"] = string(log); !strings.Contains(shown["log"], "deliveries: a target does not answer") {
		t.Errorf("the log does not even say that a target is dead:\n%s", log)
	}
	for where, text := range shown {
		if strings.Contains(text, "sesame") {
			t.Errorf("%s shows what is secret: %s", where, text)
		}
	}
}
