package delivery

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rowcast/rowcast/internal/servertest"
)

// rendered is the data of a body, byte for byte.
func rendered(t *testing.T, body []byte) string {
	t.Helper()
	var doc struct{ Data json.RawMessage }
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return string(doc.Data)
}

const offersAs = `topics: [entity.offer], as: {id: svc-billing, roles: [billing]}`

// Beyond the contract: with as, a target gets the row as that principal reads it
// and byte for byte as its own stream shows it: GET's body less what the publisher
// leaves out, masked where it is masked for it, without the fields it may not read.
func TestATargetReadsAsItsPrincipal(t *testing.T) {
	t.Parallel()
	r := servertest.Receive(t)
	s := open(t, r.Target("billing", offersAs))
	ann, svc := s.User("ann"), s.User("svc-billing", "billing")
	stream := svc.Open("/subscribe/offer")
	ann.Post("/data/offer", `{"id":"a","title":"lamp","price":5,"card":"4242","margin":3,"remarks":"none"}`).Is(201)
	got := r.Await(1)[0]
	f := stream.Frame()
	if string(got.Body) != f.Data {
		t.Errorf("delivered %s, and its stream says %s", got.Body, f.Data)
	}
	const want = `{"id":"a","title":"lamp","price":5,"card":"**42","owner_id":"ann"}`
	if rendered(t, got.Body) != want {
		t.Errorf("data is %s, want %s", rendered(t, got.Body), want)
	}
	const whole = `{"id":"a","title":"lamp","price":5,"card":"**42","remarks":"none","owner_id":"ann"}`
	if read := svc.Get("/data/offer/a").Is(200).Body; read != whole {
		t.Errorf("it reads %s over REST, want %s: what is delivered less the excluded remarks", read, whole)
	}
}

// A principal is told of the rows it may see and of no others: not of one that is
// hidden from it, nor of its delete; of one that becomes visible from then on; of a
// delete where it could read the row just before, without values.
func TestATargetIsNotToldOfWhatItMayNotSee(t *testing.T) {
	t.Parallel()
	r, bare := servertest.Receive(t), servertest.Receive(t)
	s := open(t, r.Target("billing", offersAs+", order: row"), bare.Target("bare", "topics: [entity.offer]"))
	ann := s.User("ann")
	ann.Post("/data/offer", `{"id":"never","title":"hidden"}`).Is(201)
	ann.Delete("/data/offer/never").Is(204)
	ann.Post("/data/offer", `{"id":"a","title":"hidden"}`).Is(201)
	ann.Patch("/data/offer/a", `{"title":"lamp"}`).Is(200)
	ann.Patch("/data/offer/a", `{"title":"hidden"}`).Is(200)
	ann.Patch("/data/offer/a", `{"title":"lamp again"}`).Is(200)
	ann.Delete("/data/offer/a").Is(204)
	deskOf(t, s).idle()
	var told, titles []string
	for _, got := range r.All() {
		ev := decode(t, got.Body)
		title, _ := ev.Data["title"].(string)
		told, titles = append(told, ev.Operation+" "+ev.Subject), append(titles, title)
	}
	if want := []string{"update a", "update a", "delete a"}; !slices.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
	if want := []string{"lamp", "lamp again", ""}; !slices.Equal(titles, want) {
		t.Errorf("shown %q, want %q", titles, want)
	}
	// Without as a target is nobody who may read: it is told of each, and shown nothing.
	if got := bare.All(); len(got) != 7 || !allAre(got, func(one servertest.Received) bool { return decode(t, one.Body).Data == nil }) {
		t.Errorf("without as %d came: %s", len(got), bodies(got))
	}
}

// The row in a body is the row as that write left it, also where the attempt
// comes after the next write: it is frozen in the write's transaction.
func TestABodyIsFrozenWithTheWrite(t *testing.T) {
	t.Parallel()
	r := servertest.Receive(t, servertest.Replies(503, 200)...)
	s := open(t, r.Target("billing", offersAs+", order: row"))
	ann := s.User("ann")
	ann.Post("/data/offer", `{"id":"a","title":"first","price":1}`).Is(201)
	ann.Patch("/data/offer/a", `{"title":"second"}`).Is(200)
	deskOf(t, s).idle()
	var titles []any
	for _, got := range r.All() {
		titles = append(titles, decode(t, got.Body).Data["title"])
	}
	if want := []any{"first", "first", "second"}; !slices.Equal(titles, want) {
		t.Errorf("came with %v, want %v", titles, want)
	}
}

// claimed lets those read whose token, or as, says so.
const claimed = `
entities:
  - name: file
    fields: [{name: id, type: string}, {name: text, type: string, mask: {keeplast: 0}}]
    access:
      actions: {language: expr, expression: 'user.claims.level == 3 ? ["create","read","unmask"] : ["create","read"]'}
    rowrules: [{name: own, actions: [read, create], language: expr, expression: row.id == user.claims.desk}]
    events: [{name: changed}]
    subscriptions: [{name: mine, rls: true}]
`

// as may bear claims; they count in rules as those of a token, and two targets
// with different ones are told different things of one event.
func TestTheClaimsOfATarget(t *testing.T) {
	t.Parallel()
	high, low := servertest.Receive(t), servertest.Receive(t)
	s := servertest.Start(t, servertest.Options{Schema: claimed, Targets: []string{
		high.Target("high", `topics: [entity.file], as: {id: svc, claims: {desk: north, level: 3}}`),
		low.Target("low", `topics: [entity.file], as: {id: svc, claims: {desk: south, level: 2}}`),
	}})
	for _, desk := range []string{"north", "south"} {
		token := s.Sign(jwt.MapClaims{"sub": "ann", "tenant": servertest.Tenant, "desk": desk, "exp": 4102444800})
		s.As(token).Post("/data/file", `{"id":"`+desk+`","text":"secret"}`).Is(201)
	}
	deskOf(t, s).idle()
	for name, c := range map[string]struct {
		r    *servertest.Receiver
		want string
	}{"high": {high, `{"id":"north","text":"secret"}`}, "low": {low, `{"id":"south","text":"******"}`}} {
		if got := c.r.All(); len(got) != 1 || rendered(t, got[0].Body) != c.want {
			t.Errorf("%s got %s, want %s", name, bodies(got), c.want)
		}
	}
}
