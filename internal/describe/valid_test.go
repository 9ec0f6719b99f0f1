package describe_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// decode reads JSON as a schema's validator wants it.
func decode(t *testing.T, text string) any {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("not JSON: %v", err)
	}
	return doc
}

// text is JSON with its members in the order of their names.
func text(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// at walks down a document.
func at(t *testing.T, doc any, path ...string) any {
	t.Helper()
	for _, name := range path {
		members, _ := doc.(map[string]any)
		next, ok := members[name]
		if !ok {
			t.Fatalf("there is no %s of %v", name, path)
		}
		doc = next
	}
	return doc
}

// official compiles the schema of a form, from testdata.
func official(t *testing.T, file string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://schema.test/"+file, decode(t, string(text))); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://schema.test/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// described returns a compiler of the schemas inside a description, as its form
// reads them.
func described(t *testing.T, doc any, draft *jsonschema.Draft) func(pointer string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(draft)
	c.AssertFormat()
	c.AssertContent()
	if err := c.AddResource("https://doc.test/doc.json", doc); err != nil {
		t.Fatal(err)
	}
	return func(pointer string) *jsonschema.Schema {
		t.Helper()
		s, err := c.Compile("https://doc.test/doc.json#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer))
		if err != nil {
			t.Fatalf("%s is no schema: %v", pointer, err)
		}
		return s
	}
}

// schemasOf finds the places of all schemas: under the keys that hold one, and the
// components.
func schemasOf(doc any, keys []string, pointer string, found *[]string) {
	escape := strings.NewReplacer("~", "~0", "/", "~1").Replace
	switch doc := doc.(type) {
	case map[string]any:
		for name, v := range doc {
			here := pointer + "/" + escape(name)
			if slices.Contains(keys, name) || strings.HasPrefix(pointer, "/components/schemas") && strings.Count(pointer, "/") == 2 {
				*found = append(*found, here)
				continue
			}
			schemasOf(v, keys, here, found)
		}
	case []any:
		for i, v := range doc {
			schemasOf(v, keys, pointer+"/"+strconv.Itoa(i), found)
		}
	}
}

func TestDescriptionsAreValid(t *testing.T) {
	s := start(t)
	for _, form := range []struct {
		path, file string
		draft      *jsonschema.Draft
		keys       []string
	}{
		{"/openapi.json", "openapi-3.1.json", jsonschema.Draft2020, []string{"schema"}},
		{"/asyncapi.json", "asyncapi-3.0.0.json", jsonschema.Draft7, []string{"payload", "headers", "query"}},
	} {
		schema := official(t, form.file)
		for name, caller := range callers(s) {
			doc := decode(t, caller.Get(form.path).Is(200).Body)
			if err := schema.Validate(doc); err != nil {
				t.Errorf("%s of %s is not valid: %v", form.path, name, err)
			}
			refer(t, doc, doc)
			var found []string
			schemasOf(doc, form.keys, "", &found)
			if len(found) < 3 {
				t.Errorf("%s of %s has only %d schemas", form.path, name, len(found))
			}
			compile := described(t, doc, form.draft)
			for _, pointer := range found {
				compile(pointer)
			}
		}
	}
}

// refer checks that each reference leads somewhere.
func refer(t *testing.T, root, doc any) {
	t.Helper()
	switch doc := doc.(type) {
	case map[string]any:
		if to, ok := doc["$ref"].(string); ok {
			at(t, root, strings.Split(strings.TrimPrefix(to, "#/"), "/")...)
		}
		for _, v := range doc {
			refer(t, root, v)
		}
	case []any:
		for _, v := range doc {
			refer(t, root, v)
		}
	}
}
