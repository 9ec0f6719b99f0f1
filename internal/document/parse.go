package document

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Parse reads one YAML document. It returns its root, or every refusal that
// stands in the way of a tree. An empty file is an empty mapping.
//
// hide names keys whose values are secrets: no snippet shows a line on which
// such a value stands, and no message of this package repeats it.
func Parse(file string, src []byte, hide ...string) (*Node, Refusals) {
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	s := newSource(file, string(src))
	s.mute = len(hide) > 0
	if refusal, ok := vetBytes(s, src); !ok {
		return nil, Refusals{refusal}
	}
	var rs Refusals
	tokens := lexer.Tokenize(string(src))
	if v := (&vetter{src: s, refusals: &rs}); !v.vet(tokens) {
		return nil, rs
	}
	tree, err := parseTokens(tokens)
	if err != nil {
		return nil, Refusals{syntaxRefusal(s, err)}
	}
	s.mute = false
	b := builder{src: s, refusals: &rs, hide: hide}
	root := b.root(tree)
	if len(rs) == 0 {
		return root, nil
	}
	for i := range rs { // only now is it known which lines hold secrets
		rs[i].Snippet = s.snippet(rs[i].Pos)
	}
	rs.Sort()
	return nil, rs
}

// parseTokens keeps a fault of the YAML library from taking the process down.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the reader gave up: %v", p)
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

func syntaxRefusal(s *source, err error) Refusal {
	pos, message := s.pos(1, 1), err.Error()
	var located interface {
		error
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &located) {
		pos, message = tokenPos(s, located.GetToken()), located.GetMessage()
	}
	return Refusal{
		Pos:     pos,
		Message: "cannot be read as YAML: " + message + "; correct the text here",
		Snippet: s.snippet(pos),
	}
}

// builder turns the library's tree into Nodes.
type builder struct {
	src      *source
	refusals *Refusals
	hide     []string
	hidden   int    // depth below a hidden key
	key      string // the key the node stands under
}

func (b *builder) root(file *ast.File) *Node {
	for _, doc := range file.Docs {
		if doc.Body != nil {
			if _, ok := doc.Body.(*ast.CommentGroupNode); ok {
				continue
			}
			return b.node(doc.Body)
		}
	}
	return &Node{Pos: b.src.pos(1, 1), kind: Mapping, src: b.src}
}

func (b *builder) node(n ast.Node) *Node {
	switch n := n.(type) {
	case *ast.MappingNode:
		return b.mapping(n, n.Values, n.IsFlowStyle)
	case *ast.MappingValueNode:
		return b.mapping(n, []*ast.MappingValueNode{n}, false)
	case *ast.SequenceNode:
		out := b.make(Sequence, n)
		for _, item := range n.Values {
			out.items = append(out.items, b.node(item))
		}
		return out
	case *ast.LiteralNode:
		out := b.make(Scalar, n)
		out.style, out.text = block, n.Value.Value
		b.cover(out)
		return out
	default:
		return b.scalar(n)
	}
}

func (b *builder) make(k Kind, n ast.Node) *Node {
	return &Node{Pos: tokenPos(b.src, n.GetToken()), kind: k, src: b.src, key: b.key}
}

func (b *builder) mapping(n ast.Node, values []*ast.MappingValueNode, flow bool) *Node {
	out := b.make(Mapping, n)
	if !flow && len(values) > 0 {
		out.Pos = tokenPos(b.src, values[0].Key.GetToken())
	}
	first := make(map[string]Pos, len(values))
	for _, mv := range values {
		key := b.scalar(mv.Key)
		if key.kind != Scalar {
			b.refusals.Add(key.Refusal("a key must be a name; write one before the colon"))
			continue
		}
		if at, twice := first[key.text]; twice {
			b.refusals.Add(key.Refusal("key %q given twice, first in line %d; keep one", key.text, at.Line))
			continue
		}
		first[key.text] = key.Pos
		out.members = append(out.members, Member{Key: key, Value: b.value(key, mv.Value)})
	}
	return out
}

func (b *builder) value(key *Node, n ast.Node) *Node {
	defer func(above string) { b.key = above }(b.key)
	b.key = key.text
	if slices.Contains(b.hide, key.text) {
		b.hidden++
		defer func() { b.hidden-- }()
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Type == token.ImplicitNullType {
		return &Node{Pos: key.Pos, kind: Null, src: b.src, key: key.text}
	}
	return b.node(n)
}

func (b *builder) scalar(n ast.Node) *Node {
	out := b.make(Scalar, n)
	tk := n.GetToken()
	switch tk.Type {
	case token.NullType, token.ImplicitNullType:
		out.kind = Null
		return out
	case token.SingleQuoteType:
		out.style = single
	case token.DoubleQuoteType:
		out.style = double
	case token.StringType:
		if !numeric(tk.Value) {
			out.style = plain
		}
	default:
		out.style = bare
	}
	out.text = tk.Value
	if _, ok := n.(ast.ScalarNode); !ok {
		b.refusals.Add(out.Refusal("cannot be read here; write a plain value"))
	}
	b.cover(out)
	return out
}

// numeric reports whether YAML reads a number where the library reads text: 1e3.
func numeric(s string) bool {
	if s == "" || !strings.ContainsRune("+-.0123456789", rune(s[0])) {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// cover marks the lines of a secret, so that no snippet shows them. A reference
// to the environment is no secret.
func (b *builder) cover(n *Node) {
	if b.hidden == 0 || isReference(n.text) {
		return
	}
	n.hidden = true
	b.src.secret[n.Pos.Line] = true
	if end, exact := n.place(len([]rune(n.text))); !exact || end.Line != n.Pos.Line {
		b.src.mute = true // it goes on over lines: show none of this file
	}
}

// isReference reports whether the text is ${NAME} as a whole.
func isReference(text string) bool {
	if len(text) < 4 || text[:2] != "${" || text[len(text)-1] != '}' {
		return false
	}
	for _, c := range text[2 : len(text)-1] {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
