package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

const (
	fetchTimeout = 5 * time.Second
	maxSet       = 1 << 20 // bytes of a key set
	firstRetry   = time.Second
	lastRetry    = time.Minute
)

// jwks is the keys behind one URL: cached, looked at again in the background,
// and once more when a token names a key that is not there yet (a rotation),
// but never more often than the limiter lets strangers make us.
//
// keyfunc's own refresher is not used: it starts a goroutine nobody waits for,
// reads without a bound, and holds the boot up while the URL is down.
type jwks struct {
	url     string
	where   string // url without userinfo and query, for logs
	client  *http.Client
	logger  *slog.Logger
	refresh time.Duration
	unknown *rate.Limiter
	storage jwkset.Storage
	lookup  keyfunc.Keyfunc

	mu       sync.Mutex
	inflight *fetching // the fetch under way; nil when none is
}

// fetching is one look at the URL that others may wait for.
type fetching struct {
	done chan struct{}
	err  error // set before done is closed
}

func newJWKS(s Source, client *http.Client, logger *slog.Logger) *jwks {
	j := &jwks{url: s.JWKS, client: client, logger: logger, refresh: s.Refresh, storage: jwkset.NewMemoryStorage()}
	if u, err := url.Parse(s.JWKS); err == nil {
		j.where = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	}
	if j.refresh == 0 {
		j.refresh = 15 * time.Minute
	}
	cooldown := s.Cooldown
	if cooldown == 0 {
		cooldown = 10 * time.Second
	}
	j.unknown = rate.NewLimiter(rate.Every(cooldown), 1)
	// The error is about a missing storage only.
	j.lookup, _ = keyfunc.New(keyfunc.Options{Storage: j.storage, UseWhitelist: []jwkset.USE{jwkset.UseSig, ""}})
	return j
}

// run looks at the URL now and every refresh from then on, sooner after a failure.
func (j *jwks) run(ctx context.Context) {
	retry := firstRetry
	for {
		wait := j.refresh
		if err := j.fetchOnce(ctx); err != nil {
			wait = min(retry, j.refresh)
			retry = min(2*retry, lastRetry)
			if ctx.Err() == nil {
				j.logger.WarnContext(ctx, "key set cannot be read; keys known before stay in use", "url", j.where, "error", err, "retry", wait)
			}
		} else {
			retry = firstRetry
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// keys returns the keys that may verify the token. A kid that is not known
// makes us look at the URL once.
func (j *jwks) keys(ctx context.Context, t *jwt.Token) (any, error) {
	found, err := j.lookup.KeyfuncCtx(ctx)(t)
	if errors.Is(err, jwkset.ErrKeyNotFound) || empty(found) {
		if j.await(ctx) {
			found, err = j.lookup.KeyfuncCtx(ctx)(t)
		}
	}
	if err != nil {
		return nil, err
	}
	return suiting(t.Method.Alg(), found)
}

func empty(found any) bool {
	set, isSet := found.(jwt.VerificationKeySet)
	return isSet && len(set.Keys) == 0
}

// suiting keeps the keys whose type goes with the algorithm.
func suiting(alg string, found any) (any, error) {
	set, isSet := found.(jwt.VerificationKeySet)
	if !isSet {
		set.Keys = []jwt.VerificationKey{found}
	}
	set.Keys = slices.DeleteFunc(set.Keys, func(k jwt.VerificationKey) bool { return !slices.Contains(methodsOf(k), alg) })
	if len(set.Keys) == 0 {
		return nil, errors.New("no key of the set goes with the algorithm")
	}
	return set, nil
}

// await looks at the URL for a key id that is not known, or joins a look under
// way. It reports whether looking the key up again is worth it.
func (j *jwks) await(ctx context.Context) bool {
	j.mu.Lock()
	idle := j.inflight == nil
	j.mu.Unlock()
	if idle && !j.unknown.Allow() {
		return false
	}
	// The first to ask fetches for all, so its going away must not undo it.
	if err := j.fetchOnce(context.WithoutCancel(ctx)); err != nil {
		j.logger.WarnContext(ctx, "key set cannot be read for an unknown key id", "url", j.where, "error", err)
		return false
	}
	return true
}

// fetchOnce fetches, or waits for the fetch under way; fetchTimeout bounds both.
func (j *jwks) fetchOnce(ctx context.Context) error {
	j.mu.Lock()
	if f := j.inflight; f != nil {
		j.mu.Unlock()
		<-f.done
		return f.err
	}
	f := &fetching{done: make(chan struct{})}
	j.inflight = f
	j.mu.Unlock()
	defer func() {
		j.mu.Lock()
		j.inflight = nil
		j.mu.Unlock()
		close(f.done)
	}()
	f.err = j.fetch(ctx)
	return f.err
}

func (j *jwks) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, j.url, nil)
	if err != nil {
		return errors.New("the URL is malformed")
	}
	resp, err := j.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxSet+1))
	if err != nil {
		return err
	}
	if len(body) > maxSet {
		return fmt.Errorf("the key set is over %d bytes", maxSet)
	}
	keys, err := parseSet(body)
	if err != nil {
		return err
	}
	// Replacing is what takes a withdrawn key out of use.
	return j.storage.KeyReplaceAll(ctx, keys)
}

// withoutURL drops the URL that http.Client puts into its errors: it may carry a password.
func withoutURL(err error) error {
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// parseSet reads the public keys of a set. What is no public key that verifies
// tokens is left out: symmetric keys above all, which anybody could read there.
func parseSet(body []byte) ([]jwkset.JWK, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil || set.Keys == nil {
		return nil, errors.New("the answer is not a key set")
	}
	var keys []jwkset.JWK
	for _, raw := range set.Keys {
		jwk, err := jwkset.NewJWKFromRawJSON(raw, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err == nil && methodsOf(jwk.Key()) != nil {
			keys = append(keys, jwk)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the key set holds no key that verifies tokens")
	}
	return keys, nil
}

// guarded returns a copy of the client that follows few redirects, and none
// from https to http, where anybody on the way could hand us keys. nil: a
// client with a transport of its own, so that closing it closes nobody else's.
func guarded(given *http.Client) *http.Client {
	client := http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: fetchTimeout, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
	}}
	if given != nil {
		client = *given
	}
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) >= 3 || (via[0].URL.Scheme == "https" && req.URL.Scheme != "https") {
			return errors.New("redirected too often, or to plain http")
		}
		return nil
	}
	return &client
}
