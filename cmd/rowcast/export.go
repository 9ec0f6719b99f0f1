package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newExport() *cobra.Command {
	d := &desk{}
	cmd := &cobra.Command{
		Use:   "export ENTITY [FILE]",
		Short: "Write rows to a file of NDJSON or CSV",
		Long: `export pages through the rows that the token's bearer may read, as that caller reads them, and writes an object
a line, or CSV with the names of the fields on its first line. Without FILE, or with -, they go to stdout.

FILE appears when it is whole: until then the rows stand in FILE.part. A run that was interrupted or killed goes on
with --resume. What CSV holds, import reads back: null is an empty cell, the empty text is "", objects and
arrays are JSON.`,
		Example: `  rowcast export order orders.ndjson --token "$(rowcast token --sub ann)"
  rowcast export order orders.csv --filter '[status][in]=open,paid' --sort -total --fields id,title,total
  rowcast export order --limit 10 | jq .title`,
		Args: cobra.RangeArgs(1, 2),
	}
	o := exportOptions{}
	flags := cmd.Flags()
	serverFlags(cmd, d)
	flags.StringVar(&o.format, "format", "", "ndjson or csv; defaults to the ending of the file's name, and on stdout to ndjson")
	flags.StringArrayVar(&o.filters, "filter", nil, "a `condition` '[FIELD][OPERATOR]=VALUE' as in a list, or JSON; may be repeated")
	flags.StringVar(&o.sort, "sort", "", "the order, as in a list; defaults to that of ids")
	flags.StringSliceVar(&o.fields, "fields", nil, "write these fields only")
	flags.IntVar(&o.limit, "limit", 0, "write at most so many rows; 0 is all")
	flags.BoolVar(&o.resume, "resume", false, "go on where a run before was interrupted")
	flags.DurationVar(&o.retry, "retry", 2*time.Minute, "how long a server that does not answer is tried again")
	cmd.PreRunE = func(_ *cobra.Command, args []string) error { return o.complete(args) }
	cmd.RunE = work(func(cmd *cobra.Command, _ []string) error {
		c, err := d.client(cmd)
		if err != nil {
			return err
		}
		o.url = d.url
		return explained(runExport(cmd, c, o))
	})
	return cmd
}

// exportOptions say what to write, and where.
type exportOptions struct {
	url, entity, file string // file is "" for stdout
	format, sort      string
	filters, fields   []string
	limit             int
	resume            bool
	retry             time.Duration

	query url.Values // of every page
}

// complete judges the options together.
func (o *exportOptions) complete(args []string) (err error) {
	o.entity = args[0]
	if len(args) > 1 && args[1] != "-" {
		o.file = args[1]
	}
	switch {
	case o.file == "" && o.resume:
		return errors.New("--resume is of a file: what went to stdout cannot be gone on with")
	case o.file == "" && o.format == "":
		o.format = formatNDJSON
	}
	if o.format, err = formatOf(o.format, o.file); err != nil {
		return err
	}
	if o.limit < 0 {
		return fmt.Errorf("--limit %d: want how many rows, or 0 for all", o.limit)
	}
	if o.query, err = filterParameters(o.filters); err != nil {
		return err
	}
	if o.sort != "" {
		o.query.Set("sort", o.sort)
	}
	if o.fields != nil {
		o.query.Set("fields", strings.Join(o.fields, ","))
	}
	return nil
}
