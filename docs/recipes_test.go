package docs

import (
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rowcast/rowcast/internal/servertest"
)

// recipe returns the schema that stands below a heading of the guide to rules.
func recipe(t *testing.T, title string) string {
	t.Helper()
	p := read(t, "docs/guides/rules.md")
	_, fences := p.split()
	for i, line := range p.lines {
		if line != "### "+title {
			continue
		}
		for _, f := range fences {
			if f.line > i && f.language == "yaml" {
				return f.text
			}
		}
	}
	t.Fatalf("no recipe %q", title)
	return ""
}

// cook serves a recipe.
func cook(t *testing.T, title string) *servertest.Server {
	leakCheck(t)
	return servertest.Start(t, servertest.Options{Schema: recipe(t, title), Auth: "  anonymous: {}\n"})
}

func caller(c *servertest.Caller) *servertest.Caller { return c.With("Connection", "close") }

func items(t *testing.T, c *servertest.Caller, path string) int {
	t.Helper()
	return len(c.Get(path).Is(200).JSON()["items"].([]any))
}

// Each of the recipes does what the guide says of it.
func TestRecipeOwner(t *testing.T) {
	s := cook(t, "Owner")
	ann, ben, sam := caller(s.User("ann")), caller(s.User("ben")), caller(s.User("sam", "staff"))
	row := "/data/note/" + ann.Post("/data/note", `{"text":"mine"}`).Is(201).ID()
	ben.Get(row).Problem(404, "not_found")
	ann.Post("/data/note", `{"text":"for ben","owner_id":"ben"}`).Problem(403, "row_refused")
	sam.Get(row).Is(200)
	sam.Patch(row, `{"text":"x"}`).Problem(403, "row_refused")
	sam.Post("/data/note", `{"text":"for ben","owner_id":"ben"}`).Is(201)
	sam.Delete(row).Is(204)
}

func TestRecipeTeam(t *testing.T) {
	s := cook(t, "Team, from a claim")
	token := func(sub string, lead bool, teams ...string) *servertest.Caller {
		return caller(s.As(s.Sign(jwt.MapClaims{"sub": sub, "exp": time.Now().Add(time.Hour).Unix(), "teams": teams, "lead": lead})))
	}
	ann, ben, lea, cat := token("ann", false, "red"), token("ben", false, "red"), token("lea", true, "red"), caller(s.User("cat"))
	row := "/data/task/" + ann.Post("/data/task", `{"title":"paint","team":"red"}`).Is(201).ID()
	ann.Post("/data/task", `{"title":"paint","team":"blue"}`).Problem(403, "row_refused")
	cat.Get(row).Problem(404, "not_found")
	ben.Patch(row, `{"assignee":"ben"}`).Is(200)
	ann.Patch(row, `{"title":"x"}`).Problem(403, "row_refused")
	ben.Delete(row).Problem(403, "row_refused")
	lea.Patch(row, `{"team":"blue"}`).Problem(403, "row_refused")
	lea.Delete(row).Is(204)
}

func TestRecipePublicRead(t *testing.T) {
	s := cook(t, "Public read")
	ann, ben, nobody := caller(s.User("ann")), caller(s.User("ben")), caller(s.As(""))
	row := "/data/article/" + ann.Post("/data/article", `{"title":"draft"}`).Is(201).ID()
	if n := items(t, nobody, "/data/article"); n != 0 {
		t.Errorf("nobody in particular sees %d drafts", n)
	}
	ann.Patch(row, `{"published":true}`).Is(200)
	if n := items(t, nobody, "/data/article"); n != 1 {
		t.Errorf("nobody in particular sees %d articles, want 1", n)
	}
	ben.Patch(row, `{"title":"x"}`).Problem(403, "row_refused")
	ben.Post("/data/article", `{"title":"x","published":true,"author":"ann"}`).Problem(403, "row_refused")
	nobody.Post("/data/article", `{"title":"x"}`).Problem(403, "forbidden")
}

func TestRecipeDropBox(t *testing.T) {
	s := cook(t, "Drop box")
	ann, sam := caller(s.User("ann")), caller(s.User("sam", "staff"))
	if body := ann.Post("/data/report", `{"text":"psst"}`).Is(201).Body; strings.Contains(body, "psst") || !strings.HasPrefix(body, `{"id":`) {
		t.Errorf("a writer who may not read is answered %s", body)
	}
	ann.Get("/data/report").Problem(403, "forbidden")
	if n := items(t, sam, "/data/report"); n != 1 {
		t.Errorf("staff sees %d reports, want 1", n)
	}
}
