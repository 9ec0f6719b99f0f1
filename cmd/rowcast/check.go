package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say everything that keeps a configuration from serving",
		Long: `check reads the boot document and the schemas it names, without touching a
database, and prints every refusal as file:line:col: message on stderr. It exits
with status 1 then; otherwise it prints ok. serve refuses with the same lines.`,
		Example: `  rowcast check --config examples/shop/rowcast.yaml`,
		Args:    cobra.NoArgs,
	}
	config := configFlag(cmd)
	cmd.RunE = work(func(cmd *cobra.Command, _ []string) error {
		if _, err := load(cmd, *config); err != nil {
			return err
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "ok")
		return err
	})
	return cmd
}
