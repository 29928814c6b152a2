// Says what a docker config means to a kubelet, by the functions that a kubelet calls itself
// (pkg/kubelet/images/image_manager.go: ParseImageName, MakeDockerKeyring, Lookup).
//
// It reads one JSON object a line, {"config": base64 of a .dockerconfigjson, "images": [names as in a pod]}; with
// "legacy": true, the config is a .dockercfg. It answers each with one line: why the Secret cannot be read, or its
// hosts as they are spelled, and for each image the repository that is looked up and the logins that it gets. Logins
// come in groups: a kubelet tries the groups in their order, and the logins of one group in an order of chance.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/credentialprovider"
	"k8s.io/kubernetes/pkg/credentialprovider/secrets"
	"k8s.io/kubernetes/pkg/util/parsers"
)

type question struct {
	Config []byte   `json:"config"`
	Legacy bool     `json:"legacy"`
	Images []string `json:"images"`
}

type verdict struct {
	Error string   `json:"error,omitempty"`
	Hosts []string `json:"hosts,omitempty"`
	Pulls []pull   `json:"pulls,omitempty"`
}

type pull struct {
	Error      string    `json:"error,omitempty"`
	Repository string    `json:"repository,omitempty"`
	Groups     [][]login `json:"groups,omitempty"`
}

// Username and password are bytes: what `auth` decodes to need not be UTF-8.
type login struct {
	Host     string `json:"host"`
	Username []byte `json:"username"`
	Password []byte `json:"password"`
}

func main() {
	// A kubelet logs the hosts that it ignores; standard error is left to our own faults.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)

	questions, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var asked question
		err := questions.Decode(&asked)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = answers.Encode(answer(asked))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func answer(asked question) verdict {
	var config credentialprovider.DockerConfigJSON
	var parsed any = &config
	secret := v1.Secret{Type: v1.SecretTypeDockerConfigJson, Data: map[string][]byte{v1.DockerConfigJsonKey: asked.Config}}
	if asked.Legacy {
		parsed = &config.Auths
		secret = v1.Secret{Type: v1.SecretTypeDockercfg, Data: map[string][]byte{v1.DockerConfigKey: asked.Config}}
	}
	keyring, err := secrets.MakeDockerKeyring([]v1.Secret{secret}, credentialprovider.UnionDockerKeyring{})
	if err != nil {
		return verdict{Error: err.Error()}
	}

	if len(asked.Config) > 0 { // a kubelet passes over an empty one
		if err := json.Unmarshal(asked.Config, parsed); err != nil {
			panic("the keyring was made from a config that cannot be read")
		}
	}
	hosts := slices.Sorted(maps.Keys(config.Auths))
	answered := verdict{Hosts: hosts}
	forward, backward := traced(config.Auths, hosts), traced(config.Auths, reversed(hosts))
	for _, image := range asked.Images {
		repository, _, _, err := parsers.ParseImageName(image)
		if err != nil {
			answered.Pulls = append(answered.Pulls, pull{Error: err.Error()})
			continue
		}
		groups := grouped(lookup(forward, repository), lookup(backward, repository))
		got, _ := keyring.Lookup(repository)
		mustEqual(got, groups)
		answered.Pulls = append(answered.Pulls, pull{Repository: repository, Groups: groups})
	}
	return answered
}

// traced returns a keyring of the same entries, added one after the other, each with its spelled host as its source.
func traced(config credentialprovider.DockerConfig, hosts []string) *credentialprovider.BasicDockerKeyring {
	keyring := &credentialprovider.BasicDockerKeyring{}
	for _, host := range hosts {
		source := &credentialprovider.CredentialSource{Secret: &credentialprovider.SecretCoordinates{Name: host}}
		keyring.Add(source, credentialprovider.DockerConfig{host: config[host]})
	}
	return keyring
}

func lookup(keyring credentialprovider.DockerKeyring, repository string) []login {
	found, _ := keyring.Lookup(repository)
	logins := make([]login, 0, len(found))
	for _, one := range found {
		logins = append(logins, login{one.Source.Secret.Name, []byte(one.Username), []byte(one.Password)})
	}
	return logins
}

// grouped splits logins where their order does not hang on the order in which a map gives its entries.
func grouped(forward, backward []login) [][]login {
	place := map[string]int{}
	for i, one := range backward {
		place[one.Host] = i
	}
	var groups [][]login
	for i, one := range forward {
		if i > 0 && place[forward[i-1].Host] > place[one.Host] {
			groups[len(groups)-1] = append(groups[len(groups)-1], one)
		} else {
			groups = append(groups, []login{one})
		}
	}
	return groups
}

// mustEqual panics unless a kubelet's own keyring gives the logins of each group before those of the next.
func mustEqual(got []credentialprovider.TrackedAuthConfig, groups [][]login) {
	for _, group := range groups {
		for range group {
			same := func(one login) bool {
				return string(one.Username) == got[0].Username && string(one.Password) == got[0].Password
			}
			if len(got) == 0 || !slices.ContainsFunc(group, same) {
				panic("the traced keyring gives other logins than a kubelet's")
			}
			got = got[1:]
		}
	}
	if len(got) > 0 {
		panic("a kubelet's keyring gives more logins")
	}
}

func reversed(hosts []string) []string {
	other := slices.Clone(hosts)
	slices.Reverse(other)
	return other
}
