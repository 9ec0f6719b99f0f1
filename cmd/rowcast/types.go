package main

import (
	"errors"
	"fmt"
	"go/token"
	"os"
	"strings"

	"github.com/rowcast/rowcast/internal/boot"
	"github.com/rowcast/rowcast/internal/typegen"
	"github.com/spf13/cobra"
)

func newTypes() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "types --lang {ts|go}",
		Short: "Write the types of the schema in TypeScript or Go",
		Long: `types writes what a client needs to be checked by its compiler: each entity's rows as they
are read, the bodies that create and change them, its enums, and what its subscriptions
and channels tell. It reads the boot document and the schemas it names; no server has to run.
The same schema gives the same text, so that it can be kept beside a program and compared in CI.`,
		Example: `  rowcast types --lang ts --config examples/shop/rowcast.yaml --out shop.ts
  rowcast types --lang go --package shop --config examples/shop/rowcast.yaml`,
		Args: cobra.NoArgs,
	}
	config := configFlag(cmd)
	lang := cmd.Flags().String("lang", "", "`language`: ts or go (required)")
	tenant := cmd.Flags().String("tenant", "", "whose schema; may be left out where all tenants have the same")
	name := cmd.Flags().String("package", "types", "package of what is written in Go")
	out := cmd.Flags().String("out", "", "`file` to write; stdout by default")
	_ = cmd.MarkFlagRequired("lang") // fails only for a flag that is not there
	// What cannot be done as asked is a wrong call, not a failure of the work.
	cmd.PreRunE = func(*cobra.Command, []string) error { return canWrite(*lang, *name) }
	cmd.RunE = work(func(cmd *cobra.Command, _ []string) error {
		doc, err := load(cmd, *config)
		if err != nil {
			return err
		}
		from, err := schemaOf(doc, *tenant)
		if err != nil {
			return err
		}
		text, err := typesOf(from, *lang, typegen.Options{Realtime: doc.Realtime, Package: *name})
		if err != nil {
			return err
		}
		if *out == "" {
			_, err = cmd.OutOrStdout().Write(text)
			return err
		}
		return os.WriteFile(*out, text, 0o644) //nolint:gosec // source code like any other, with no secret in it
	})
	return cmd
}

func canWrite(lang, name string) error {
	switch {
	case lang != "ts" && lang != "go":
		return fmt.Errorf("--lang %q: write ts or go", lang)
	case !token.IsIdentifier(name) || name == "_":
		return fmt.Errorf("--package %q cannot name a package of Go", name)
	}
	return nil
}

func typesOf(tenant boot.Tenant, lang string, o typegen.Options) ([]byte, error) {
	if lang == "ts" {
		return typegen.TypeScript(tenant.Model, o), nil
	}
	return typegen.Go(tenant.Model, o)
}

// schemaOf returns the tenant of that name; without a name any, if it does not
// matter which.
func schemaOf(doc *boot.Document, name string) (boot.Tenant, error) {
	same := true
	for _, t := range doc.Tenants {
		if t.Name == name {
			return t, nil
		}
		same = same && t.Schema == doc.Tenants[0].Schema
	}
	switch {
	case name != "":
		return boot.Tenant{}, fmt.Errorf("--tenant: name one of %s", strings.Join(doc.TenantNames(), ", "))
	case !same:
		return boot.Tenant{}, errors.New("the tenants have different schemas; --tenant: name one of " + strings.Join(doc.TenantNames(), ", "))
	}
	return doc.Tenants[0], nil
}
