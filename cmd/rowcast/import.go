package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/spf13/cobra"
)

func newImport() *cobra.Command {
	d := &desk{}
	cmd := &cobra.Command{
		Use:   "import ENTITY FILE",
		Short: "Create rows from a file of NDJSON or CSV",
		Long: `import reads a file row by row and creates the rows through a running server, many in one request,
guarded as every write of the token's bearer. - is stdin. Each line that is refused is named on stderr with
its reason, the others are written; where lines were refused the exit status is 1.

A run that was interrupted or killed goes on where it stood when it is called again: what is done stands in
FILE.import, and each request bears an Idempotency-Key, so that no row is written twice.

The first line of CSV names the fields. Which of them are numbers, booleans, objects or arrays the server is
asked; an empty cell is null, and "" is the empty text.`,
		Example: `  rowcast import order orders.ndjson --token "$(rowcast token --sub ann)"
  rowcast import product products.csv --fields name,price --rejects refused.ndjson
  jq -c .row refused.ndjson | rowcast import product - --format ndjson`,
		Args: cobra.ExactArgs(2),
	}
	o := importOptions{}
	flags := cmd.Flags()
	serverFlags(cmd, d)
	flags.StringVar(&o.format, "format", "", "ndjson or csv; defaults to the ending of the file's name")
	flags.StringSliceVar(&o.fields, "fields", nil, "take these fields only")
	flags.IntVar(&o.batch, "batch", 500, "how many rows go into a request at most")
	flags.StringVar(&o.stateFile, "state", "", "`file` that holds how far it came; defaults to FILE.import, and of stdin to none")
	flags.StringVar(&o.rejectsFile, "rejects", "", "`file` for the refused lines, each as {line, reason, row}")
	flags.IntVar(&o.maxErrors, "max-errors", 100, "stop when more lines than these were refused; -1 never does")
	flags.DurationVar(&o.retry, "retry", 2*time.Minute, "how long a server that does not answer is tried again")
	flags.StringVar(&o.delimiter, "delimiter", ",", "of CSV: what stands between cells, or tab")
	flags.StringSliceVar(&o.types, "types", nil, "of CSV: the types of fields, a `list` such as n=int,tags=array, where the server is not to be asked")
	flags.BoolVar(&o.emptyText, "empty-as-text", false, "of CSV: an empty cell of a text field is the empty text, not null")
	cmd.PreRunE = func(_ *cobra.Command, args []string) error { return o.complete(args[0], args[1]) }
	cmd.RunE = work(func(cmd *cobra.Command, _ []string) error {
		c, err := d.client(cmd)
		if err != nil {
			return err
		}
		o.url, o.keys = d.url, d.credential() != ""
		return explained(runImport(cmd, c, o))
	})
	return cmd
}

// serverFlags adds the flags that say which server is meant, and as whom.
func serverFlags(cmd *cobra.Command, d *desk) {
	flags := cmd.Flags()
	flags.StringVar(&d.url, "url", "http://127.0.0.1:8080", "address of the server")
	flags.StringVar(&d.token, "token", "", "credential; defaults to the environment's ROWCAST_TOKEN, which ps does not show")
}

// credential returns the caller's, "" for none.
func (d *desk) credential() string {
	if d.token != "" {
		return d.token
	}
	return os.Getenv("ROWCAST_TOKEN")
}

// importOptions say what to read, and how.
type importOptions struct {
	url, entity, file      string
	format                 string
	stateFile, rejectsFile string
	fields                 []string
	batch, maxErrors       int
	retry                  time.Duration
	delimiter              string
	types                  []string
	emptyText              bool

	keys  bool // the caller has a credential, so that requests may bear keys
	kinds map[string]kind
}

// complete judges the options together.
func (o *importOptions) complete(entity, file string) (err error) {
	o.entity, o.file = entity, file
	if o.format, err = formatOf(o.format, file); err != nil {
		return err
	}
	if o.batch < 1 || o.batch > 10_000 {
		return errors.New("--batch must be from 1 to 10000")
	}
	if o.delimiter == "tab" {
		o.delimiter = "\t"
	}
	if len(o.delimiter) != 1 || strings.ContainsAny(o.delimiter, "\"\r\n") || o.delimiter[0] >= 0x80 {
		return errors.New("--delimiter must be one ASCII character, or tab")
	}
	if o.format != formatCSV && (o.types != nil || o.emptyText || o.delimiter != ",") {
		return errors.New("--types, --empty-as-text and --delimiter are of CSV: NDJSON says itself what it holds")
	}
	if err := o.readTypes(); err != nil {
		return err
	}
	if o.stateFile == "" && file != "-" {
		o.stateFile = file + ".import"
	}
	return nil
}

func (o *importOptions) readTypes() error {
	o.kinds = map[string]kind{}
	for _, text := range o.types {
		field, name, _ := strings.Cut(text, "=")
		t, known := value.ParseType(name)
		if !known {
			return fmt.Errorf("--types %s: want FIELD=TYPE, with one of %s; of an enum string", text, strings.Join(value.TypeNames(), ", "))
		}
		o.kinds[field] = kindOf(t)
	}
	return nil
}

// encoding is all that decides what is sent for a line: an import goes on with
// the very same alone.
func (o *importOptions) encoding() string {
	return fmt.Sprintf("%s %q %q %q %t", o.format, o.delimiter, o.fields, o.types, o.emptyText)
}

// The formats of files.
const (
	formatNDJSON = "ndjson"
	formatCSV    = "csv"
)

// formatOf returns the format that was asked for, or that of the file's name.
func formatOf(asked, file string) (string, error) {
	name := strings.ToLower(file)
	switch {
	case asked == formatNDJSON || asked == formatCSV:
		return asked, nil
	case asked != "":
		return "", fmt.Errorf("--format %s: want ndjson or csv", asked)
	case strings.HasSuffix(name, ".ndjson"), strings.HasSuffix(name, ".jsonl"):
		return formatNDJSON, nil
	case strings.HasSuffix(name, ".csv"):
		return formatCSV, nil
	}
	return "", fmt.Errorf("%s ends in neither .ndjson, .jsonl nor .csv: say --format ndjson or --format csv", file)
}
