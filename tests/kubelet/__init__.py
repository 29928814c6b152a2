"""What a docker config means to a kubelet, decided by the kubelet's own parser.

main.go is a small program around the functions that a kubelet calls (ParseImageName, MakeDockerKeyring, Lookup). It is
built from the Kubernetes that tests/controlplane/go.mod pins; tests/support/kubelet.py builds it and asks it.
verdicts.json is its table of verdicts on the configs of configs.py. After a change of either, make it anew with

    .venv/dev/bin/python -m tests.kubelet

and read the diff. upsert/core/docker_auth.py has to give the same verdicts, over the table and over random configs.

These rules follow. A kubelet reads a ``.dockerconfigjson`` as Go's encoding/json does:

- One error makes the whole Secret unreadable, every host of it, and with it every other pull Secret of the pod:
  nothing that the pod has to pull is pulled. The API server checks no more than that the value is a JSON object.
- The text is JSON without BOM, trailing text or NUL, nested 10,000 deep at most. Bytes that are no UTF-8, and lone
  surrogates, are no error: within strings each becomes U+FFFD. Empty, ``null`` and ``{}`` hold no login.
- Names of members are compared without regard to case (``Auths``, ``AUTH``; even U+017F for an s), hosts are not.
- A member that is given twice counts twice: ``auths`` adds up, the last one of a host wins as a whole, the last one of
  a field wins. ``null`` empties ``auths``, makes an entry without login, and leaves a field as it is. A fault in one
  that is overridden is still an error, but for an ``auth`` that a later ``auth`` of its entry replaces.
- ``auths`` and its entries must be objects or null; ``username``, ``password``, ``email`` and ``auth`` texts or null;
  ``HttpHeaders`` an object of texts or null. Other members may hold anything: ``credsStore`` and ``credHelpers`` mean
  nothing to a kubelet, ``identitytoken`` and ``registrytoken`` neither, nor does the legacy format without ``auths``.
- An ``auth`` that is not empty wins over ``username`` and ``password``. It must be standard base64, with all of its
  padding or none, of a text with a colon. CR and LF are passed over anywhere in it; any other blank, the url-safe
  alphabet, a plain ``u:p`` or a bare token, encoded or not, make the Secret unreadable. The username ends at the first
  colon; a line feed behind the password is part of it. What is decoded need not be UTF-8.

And it gives an image its logins so:

- The image is written out first: ``nginx`` is ``docker.io/library/nginx``, ``index.docker.io`` is ``docker.io``; tag
  and digest play no part. What is no image name gets no login.
- Of a host, ``https://`` or ``http://`` in lower case, user info, query and fragment are dropped, and ``/v1`` or
  ``/v2`` in front of a further slash. One that is no URL then is ignored in silence: a blank, two colons, a port that
  is no number, a bracket or ``%`` of ASCII in the name. ``HTTPS://`` and other schemes are taken for a host.
- Hosts match label by label, in exact case, as globs with ``*`` (``?`` starts a query, ``[`` an IPv6 address): as many
  labels as the image has. ``*.amazonaws.com`` is no ECR registry, ``*.*.*.*.*.*`` is every one. The port must be the
  same text or absent from both: ``HOST:443`` serves ``HOST:443/app`` only. An IPv6 address works with a port only.
- A path is a prefix of the text: ``/te`` serves ``/team/app``, ``/team/`` all of team but not ``team`` itself.
- All logins that match are tried, those of the key that sorts last first (``HOST/team`` before ``HOST`` before
  ``*.example``). Spellings of one key (``HOST``, ``https://HOST/v1/``) are tried in an order of chance. An entry
  without login is tried as well, with an empty username and password.
- Only if nothing matches do ``docker.io``, ``localhost`` and single-label registries get the logins of exactly
  ``index.docker.io``, in any of its spellings (``https://index.docker.io/v1/``, but not ``…/v1``). ``docker.io`` as a
  host matches Docker Hub by itself, and then hides those.
"""
