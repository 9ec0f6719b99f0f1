package main

import (
	"os"

	"github.com/rowcast/rowcast/internal/boot"
	"github.com/spf13/cobra"
)

// configFlag adds --config.
func configFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("config", "rowcast.yaml", "the boot document")
}

// load reads the boot document and everything it names. The error is its
// document.Refusals, which execute prints.
func load(cmd *cobra.Command, path string) (*boot.Document, error) {
	doc, refusals := boot.Load(path, os.LookupEnv)
	if err := refusals.Err(); err != nil {
		return nil, err
	}
	for _, w := range doc.Warnings {
		cmd.PrintErrf("warning: %s\n", w)
	}
	return doc, nil
}
