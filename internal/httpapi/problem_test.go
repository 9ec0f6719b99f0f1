package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/store"
)

// codes reads the constants off the source of package fault, so that a new one
// cannot be forgotten here.
func codes(t *testing.T) []fault.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../fault/fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []fault.Code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Code" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, fault.Code(text))
		}
		return true
	})
	if len(found) < 30 {
		t.Fatalf("found only %d codes in package fault", len(found))
	}
	return found
}

func TestEveryCodeHasAStatusAndIsExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/problems.md")
	if err != nil {
		t.Fatal(err)
	}
	all := codes(t)
	for _, code := range all {
		k, ok := kinds[code]
		if !ok {
			t.Errorf("%s has no row in the table", code)
			continue
		}
		if k.title == "" || k.status < 400 || k.status > 599 {
			t.Errorf("%s: status %d, title %q", code, k.status, k.title)
		}
		if row := fmt.Sprintf("| `%s` | %d | ", code, k.status); strings.Count(string(page), row) != 1 {
			t.Errorf("docs/problems.md must have one row that begins %q", row)
		}
	}
	if len(all) != len(kinds) {
		t.Errorf("the table has %d rows for %d codes", len(kinds), len(all))
	}
}

func TestAProblemIsOneDocument(t *testing.T) {
	f := fault.New(fault.Invalid, "the order <1> was not written").
		With(fault.FieldError{Field: "title", Code: "required", Detail: "a value is needed"})
	f.Available = []string{"a", "b"}
	w := httptest.NewRecorder()
	w.Header().Set("ETag", `"x"`)
	Problem(w, fmt.Errorf("create: %w", f))
	want := `{"type":"urn:rowcast:problem:invalid","title":"The data is not valid","status":422,` +
		`"detail":"the order <1> was not written","code":"invalid",` +
		`"errors":[{"field":"title","code":"required","detail":"a value is needed"}],"available":["a","b"]}`
	if got := w.Body.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if w.Code != 422 || w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("ETag") != "" {
		t.Errorf("status %d, headers %v", w.Code, w.Header())
	}
	if got := w.Header().Get("Content-Length"); got != strconv.Itoa(len(want)) {
		t.Errorf("Content-Length %s", got)
	}
}

func TestWhatIsNoFaultShowsNothingOfItself(t *testing.T) {
	secret := errors.New("open /var/lib/secret.db: disk I/O error")
	for name, tc := range map[string]struct {
		err    error
		status int
		code   fault.Code
	}{
		"an unknown error":         {secret, 500, fault.Internal},
		"an internal fault":        {fault.New(fault.Internal, "at %v", secret), 500, fault.Internal},
		"a code without a row":     {fault.New("novel", "at %v", secret), 500, fault.Internal},
		"a fault with a cause":     {fault.New(fault.Conflict, "taken").Because(secret), 409, fault.Conflict},
		"a store that is away":     {fmt.Errorf("%w: %w", store.ErrUnavailable, secret), 503, fault.Unavailable},
		"a store that was closed":  {fmt.Errorf("%w: %w", store.ErrClosed, secret), 503, fault.Unavailable},
		"a query that takes long":  {fmt.Errorf("%w: %w", store.ErrTimeout, secret), 504, fault.Timeout},
		"a fault around the store": {fault.New(fault.NotFound, "no row").Because(store.ErrUnavailable), 404, fault.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			Problem(w, tc.err)
			var got problem
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if w.Code != tc.status || got.Status != tc.status || got.Code != tc.code {
				t.Errorf("got %d %s, want %d %s", w.Code, got.Code, tc.status, tc.code)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the cause is shown: %s", w.Body)
			}
		})
	}
}

func TestHeadersThatGoWithAStatus(t *testing.T) {
	for code, want := range map[fault.Code][2]string{
		fault.Unauthenticated: {"WWW-Authenticate", `Bearer realm="rowcast"`},
		fault.Unavailable:     {"Retry-After", "5"},
		fault.TooManyStreams:  {"Retry-After", "5"},
	} {
		w := httptest.NewRecorder()
		Problem(w, fault.New(code, "x"))
		if got := w.Header().Get(want[0]); got != want[1] {
			t.Errorf("%s: %s is %q, want %q", code, want[0], got, want[1])
		}
	}
}
