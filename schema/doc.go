// Package schema turns YAML into an immutable Model of entities, or into
// refusals that name the file, line and column of everything wrong with it.
//
// It guarantees that every name in a Model resolves: types, traits, enums,
// fields of indexes, filters, include and exclude, topics of subscriptions. It
// keeps the contracts' refusals of events and subscriptions, among them that an
// entity with row rules has no subscription without rls, and of channels and
// custom operations. What it does not look
// into are expressions: predicate, script and access compile them, and place
// their own refusals with Script.At.
//
// A key that this version does not serve is refused like a misspelt one; what
// each mapping may hold stands in shapes.go and nowhere else.
//
// A Model is safe for concurrent use. The package may import value and document.
package schema
