package describe_test

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/servertest"
)

// A body that the description allows the server takes, and one that it refuses
// the server refuses too.
func TestBodiesAreAsDescribed(t *testing.T) {
	s := start(t)
	user := callers(s)["user"]
	body := described(t, decode(t, user.Get("/openapi.json").Is(200).Body), jsonschema.Draft2020)("/components/schemas/create.note")
	for sent, want := range map[string]bool{
		`{"title":"aa"}`:                                              true,
		`{"title":"ab","phase":"open"}`:                               true,
		`{"title":"ac","phase":null}`:                                 true,
		`{"title":"ad","size":9}`:                                     true,
		`{"title":"ae","large":-1}`:                                   true,
		`{"title":"af","ratio":0.5}`:                                  true,
		`{"title":"ag","done":false}`:                                 true,
		`{"title":"ah","day":"2024-02-29"}`:                           true,
		`{"title":"ai","seen":"2024-02-29T01:02:03.000004Z"}`:         true,
		`{"title":"aj","ref":"018f3c1e-5d2a-7c3b-8a4d-0123456789ab"}`: true,
		`{"title":"ak","meta":{"a":[1]}}`:                             true,
		`{"title":"al","tags":[1,"b",null]}`:                          true,
		`{"title":"am","blob":"AAEC"}`:                                true,
		`{"title":"an","tone":"low"}`:                                 true,
		`{"title":"ao","phone":"12345","pin":7}`:                      true,
		`{}`:                                                          false,
		`{"title":null}`:                                              false,
		`{"title":"a"}`:                                               false,
		`{"title":"abcdefghij"}`:                                      false,
		`{"title":"A1"}`:                                              false,
		`{"title":"ba","phase":"closed"}`:                             false,
		`{"title":"bb","size":10}`:                                    false,
		`{"title":"bc","size":0}`:                                     false,
		`{"title":"bd","size":1.5}`:                                   false,
		`{"title":"be","done":"no"}`:                                  false,
		`{"title":"bf","day":"2024-02-30"}`:                           false,
		`{"title":"bg","seen":"yesterday"}`:                           false,
		`{"title":"bh","ref":"x"}`:                                    false,
		`{"title":"bi","meta":[]}`:                                    false,
		`{"title":"bj","tags":[1,2,3,4]}`:                             false,
		`{"title":"bk","blob":"not base64!"}`:                         false,
		`{"title":"bl","tone":"loud"}`:                                false,
	} {
		if err := body.Validate(decode(t, sent)); (err == nil) != want {
			t.Errorf("%s: described as allowed: %v, want %v: %v", sent, err == nil, want, err)
		}
		if answer := user.Post("/data/note", sent); (answer.Status == 201) != want {
			t.Errorf("%s: the server answers %d, want taken: %v: %s", sent, answer.Status, want, answer.Body)
		}
	}
}

// A pattern that is not the same to others is said in words.
func TestAPatternOfRE2AloneIsDescribed(t *testing.T) {
	s := start(t)
	doc := callers(s)["user"].Get("/openapi.json").Is(200).JSON()
	got := text(t, at(t, doc, "components", "schemas", "create.note", "properties", "code"))
	if want := `{"description":"Matches (?i)^x$ (RE2).","type":["string","null"]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Answers are as the description says, to callers who see different things.
func TestAnswersAreAsDescribed(t *testing.T) {
	s := start(t)
	all := callers(s)
	id := all["staff"].Post("/data/note", `{"title":"aa","phase":"open","size":3,"day":"2024-02-29","seen":"2024-02-29T01:02:03Z","blob":"AAEC",
		"meta":{"a":1},"tags":[1],"phone":"12345","pin":7,"hush_remark":"x","hush_level":"hush_low"}`).Is(201).ID()
	all["staff"].Post("/data/note", `{"title":"ab"}`).Is(201)
	for name, caller := range all {
		doc := decode(t, caller.Get("/openapi.json").Is(200).Body)
		compile := described(t, doc, jsonschema.Draft2020)
		for _, path := range []string{"/data/note", "/data/note/{id}", "/readyz", "/healthz", "/admin/data/streams", "/admin/data/events/stats", "/admin/data/events/pending"} {
			if strings.HasPrefix(path, "/admin") && name != "staff" && name != "admin" {
				continue
			}
			at(t, doc, "paths", path, "get")
			schema := compile("/paths/" + strings.ReplaceAll(path, "/", "~1") + "/get/responses/200/content/application~1json/schema")
			body := caller.Get(strings.Replace(path, "{id}", id, 1)).Is(200).Body
			if err := schema.Validate(decode(t, body)); err != nil {
				t.Errorf("%s: %s answers %s, which is not as described: %v", name, path, body, err)
			}
		}
		shown := decode(t, caller.Get("/data/note/"+id).Is(200).Body).(map[string]any)
		told, _ := at(t, doc, "components", "schemas", "row.note", "properties").(map[string]any)
		if len(shown) != len(told) {
			t.Errorf("%s is shown %d fields, and described %d", name, len(shown), len(told))
		}
	}
	problem := described(t, decode(t, all["user"].Get("/openapi.json").Body), jsonschema.Draft2020)("/components/schemas/problem")
	for _, body := range []string{all["user"].Post("/data/note", `{"size":0}`).Is(422).Body, all["user"].Get("/nowhere").Is(404).Body} {
		if err := problem.Validate(decode(t, body)); err != nil {
			t.Errorf("%s is no problem as described: %v", body, err)
		}
	}
}

// Frames are as the description says.
func TestFramesAreAsDescribed(t *testing.T) {
	s := start(t)
	for _, c := range []struct{ caller, path, key, created, changed, title string }{
		{"user", "/subscribe/note?name=feed", "subscribe.note.feed", "entity.create", "entity.update", "aa"},
		{"staff", "/subscribe/note?name=feed", "subscribe.note.feed", "entity.create", "entity.update", "ab"},
		{"user", "/realtime?channel=note", "realtime.rows.note", "created", "patched", "ac"},
		{"staff", "/realtime?channel=note", "realtime.rows.note", "created", "patched", "ad"},
	} {
		caller := callers(s)[c.caller]
		compile := described(t, decode(t, caller.Get("/asyncapi.json").Is(200).Body), jsonschema.Draft7)
		stream := caller.Open(c.path)
		id := caller.Post("/data/note", `{"title":"`+c.title+`","phone":"12345","size":4}`).Is(201).ID()
		caller.Patch("/data/note/"+id, `{"phase":"open"}`).Is(200)
		for _, event := range []string{c.created, c.changed} {
			frame := stream.Frame()
			if frame.Event != event {
				t.Fatalf("%s on %s: got the frame %q, want %s", c.caller, c.path, frame.Raw, event)
			}
			if err := compile("/channels/" + c.key + "/messages/" + event + "/payload").Validate(decode(t, frame.Data)); err != nil {
				t.Errorf("%s: the frame %s is not as described: %v", c.caller, frame.Data, err)
			}
		}
		stream.Close()
	}
}

// Deliveries are as the description says that the admin role sees.
func TestDeliveriesAreAsDescribed(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
	receiver := servertest.Receive(t)
	s := servertest.Start(t, servertest.Options{Schema: world, Targets: []string{
		receiver.Target("reader", "topics: [entity.note], as: {id: svc, roles: [staff]}"),
	}, Embed: embed})
	staff := callers(s)["staff"]
	staff.Post("/data/note", `{"title":"aa","phone":"12345","hush_remark":"x"}`).Is(201)
	delivery := receiver.Await(1)[0]
	doc := decode(t, staff.Get("/asyncapi.json").Is(200).Body)
	compile := described(t, doc, jsonschema.Draft7)
	message := "/channels/webhook.reader/messages/entity.create"
	if err := compile(message + "/payload").Validate(decode(t, string(delivery.Body))); err != nil {
		t.Errorf("the body %s is not as described: %v", delivery.Body, err)
	}
	headers, _ := at(t, doc, "channels", "webhook.reader", "messages", "entity.create", "headers", "properties").(map[string]any)
	if len(headers) < 5 {
		t.Errorf("only %d headers are described", len(headers))
	}
	for name := range headers {
		if delivery.Header.Get(name) == "" {
			t.Errorf("a delivery is described with the header %s, which it does not have", name)
		}
	}
}
