package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
)

// target is one fuzz function.
type target struct{ pkg, name string }

// fuzzAll runs every fuzz target of the checkout in turn; go test takes one at a time.
func fuzzAll(ctx context.Context, j job) error {
	targets, err := fuzzTargets()
	if err != nil {
		return err
	}
	ran := 0
	for _, t := range targets {
		if !strings.Contains(t.pkg+"."+t.name, j.fuzz) {
			continue
		}
		ran++
		// Minimising an input that is merely interesting would take most of a
		// short run's time where inputs are large, as documents are.
		quiet := j
		verdict := &verdict{to: j.out}
		quiet.out = verdict
		err := quiet.command(ctx, nil, "go", "test", "-run=^$", "-fuzz=^"+t.name+"$",
			"-fuzztime="+j.fuzztime.String(), "-fuzzminimizetime=10x", t.pkg)
		if err := verdict.judge(err); err != nil {
			return err
		}
	}
	if ran == 0 {
		return errors.New("no fuzz target fits")
	}
	_, _ = fmt.Fprintln(j.log, ran, "fuzz targets found nothing")
	return nil
}

// fuzzTargets finds them in the source, which is quicker than to compile every
// test to ask it.
func fuzzTargets() ([]target, error) {
	var targets []target
	err := eachFile(func(name string) error {
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				targets = append(targets, target{pkg: "./" + path.Dir(filepath.ToSlash(name)), name: f.Name.Name})
			}
		}
		return nil
	})
	return targets, err
}
