package auth_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/rowcast/rowcast/internal/auth"
)

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// jwkOf marshals a key; with a private key and private true, the private key too.
func jwkOf(t *testing.T, key any, kid string, private bool) json.RawMessage {
	t.Helper()
	jwk, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{
		Metadata: jwkset.JWKMetadataOptions{KID: kid},
		Marshal:  jwkset.JWKMarshalOptions{Private: private},
	})
	if err != nil {
		t.Fatal(err)
	}
	return must(json.Marshal(jwk.Marshal()))
}

func TestParsePublicKeyReadsEveryFormThatKeysComeIn(t *testing.T) {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "id"}, NotAfter: time.Now().Add(time.Hour)}
	cert := must(x509.CreateCertificate(rand.Reader, template, template, publicOf(p256()), p256()))
	cases := map[string]struct {
		data []byte
		want crypto.PublicKey
	}{
		"rsa pkix":     {pemOf("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(publicOf(rsaKey())))), publicOf(rsaKey())},
		"rsa pkcs1":    {pemOf("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey)), publicOf(rsaKey())},
		"p384 pkix":    {pemOf("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(publicOf(p384())))), publicOf(p384())},
		"ed25519 pkix": {pemOf("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(publicOf(edwards())))), publicOf(edwards())},
		"certificate":  {pemOf("CERTIFICATE", cert), publicOf(p256())},
		"rsa jwk":      {jwkOf(t, publicOf(rsaKey()), "k", false), publicOf(rsaKey())},
		"p521 jwk":     {jwkOf(t, publicOf(p521()), "", false), publicOf(p521())},
		"ed25519 jwk":  {jwkOf(t, publicOf(edwards()), "", false), publicOf(edwards())},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := auth.ParsePublicKey(c.data)
			if err != nil {
				t.Fatal(err)
			}
			if !c.want.(interface{ Equal(crypto.PublicKey) bool }).Equal(got) {
				t.Errorf("another key: %v", got)
			}
		})
	}
}

func TestParsePublicKeyRefusesWhatIsNoPublicKey(t *testing.T) {
	small := &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 1023), E: 65537}
	cases := map[string][]byte{
		"empty":            nil,
		"text":             []byte("hello"),
		"damaged pem":      pemOf("PUBLIC KEY", []byte("x")),
		"private pem":      pemOf("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(rsaKey()))),
		"private jwk":      jwkOf(t, p256(), "", true),
		"symmetric jwk":    jwkOf(t, secret, "", true),
		"a set of keys":    []byte(`{"keys":[]}`),
		"json, but a list": []byte(`[]`),
		"small rsa":        pemOf("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(small)),
	}
	for name, data := range cases {
		t.Run(name, func(t *testing.T) {
			if key, err := auth.ParsePublicKey(data); err == nil {
				t.Errorf("accepted as %T", key)
			}
		})
	}
}

func FuzzParsePublicKey(f *testing.F) {
	f.Add([]byte(`{"kty":"RSA","n":"AQAB","e":"AQAB"}`))
	f.Add([]byte(`{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}`))
	f.Add(pemOf("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(publicOf(p256())))))
	f.Fuzz(func(t *testing.T, data []byte) {
		key, err := auth.ParsePublicKey(data)
		if err == nil && (auth.Source{PublicKey: key}).Validate() != nil {
			t.Errorf("parsed, but no source: %T", key)
		}
	})
}

func TestSignerMakesTokensItsSourceAccepts(t *testing.T) {
	for _, s := range []auth.Source{
		{Secret: secret},
		{Secret: []byte("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"), Alg: "HS512", Issuer: "me", Audience: "shop"},
	} {
		signer, err := auth.NewSigner([]auth.Source{{PublicKey: publicOf(p256())}, s})
		if err != nil {
			t.Fatal(err)
		}
		token, err := signer.Sign(auth.Claims{Subject: "bob", Roles: []string{"staff"}, Tenant: tenant, Issued: now, Expires: now.Add(time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		p := accepts(t, open(t, auth.Config{JWT: []auth.Source{s}}), token)
		if p.ID != "bob" || len(p.Roles) != 1 || p.Tenant != tenant || !p.Expires.Equal(now.Add(time.Minute)) {
			t.Errorf("got %+v", p)
		}
	}
	if _, err := auth.NewSigner([]auth.Source{{PublicKey: publicOf(p256())}}); !errors.Is(err, auth.ErrNoSecret) {
		t.Errorf("error is %v", err)
	}
}
