"""How names from outside are written."""

from upsert.core.fields import Grammar

REGION = Grammar(r"[a-z]{2,5}(-[a-z]+)+-[0-9]{1,2}", "a region such as eu-central-1")
ACCOUNT = Grammar(r"[0-9]{12}", "a 12-digit AWS account id, in quotes")
ROLE_ARN = Grammar(
    r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]{1,512}",
    "a role ARN such as arn:aws:iam::111122223333:role/pull",
)
HOST = Grammar(
    r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+(:[0-9]{1,5})?",
    "a bare host without https:// and path, such as 111122223333.dkr.ecr.eu-central-1.amazonaws.com",
)
# As docker configs have it: scheme and path are known to kubelets, and so is the one of Docker Hub.
SERVER = Grammar(
    r"(https?://)?[A-Za-z0-9*]([A-Za-z0-9.*-]{0,251}[A-Za-z0-9*])?(:[0-9]{1,5})?(/[A-Za-z0-9._*-]+)*/?",
    "the host of a registry, such as registry.example.com:5000",
)
# What would follow a colon, a kubelet takes for the password.
USERNAME = Grammar(r"[^:\0-\x1f\x7f]{1,512}", "a username, without a colon")
EMAIL = Grammar(r"[^\0-\x1f\x7f]{1,320}", "a mail address")
# https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
CLUSTER = Grammar(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}", "the name of an EKS cluster")
CLUSTER_GLOB = Grammar(
    r"[0-9A-Za-z*?][A-Za-z0-9_*?-]{0,99}", "the name of a cluster of the file, or a glob over such names"
)
# A DNS subdomain (RFC 1123), which is what the API server takes for the name of most objects.
OBJECT = Grammar(
    r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*",
    "an object's name: lower-case letters, digits, - and .",
)
OBJECT_GLOB = Grammar(
    r"[a-z0-9*?]([a-z0-9.*?-]{0,251}[a-z0-9*?])?", "the name of an object of the file, or a glob over such names"
)
# A DNS label (RFC 1123) in which * stands for any characters and ? for one.
NAMESPACE_GLOB = Grammar(
    r"[a-z0-9*?]([a-z0-9*?-]{0,61}[a-z0-9*?])?", "a namespace's name or a glob over such names, such as team-*"
)
NAMESPACE = Grammar(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", "a namespace's name")
SERVICE_ACCOUNT = Grammar(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", "a ServiceAccount's name, such as default")
# The server has the last word on its grammar; here only what can never be right.
SELECTOR = Grammar(r"(?=.*[^ ])[A-Za-z0-9 ,=!()._/-]{1,1024}", "a label selector such as team=a,env in (dev,test)")
# https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
SECRET_ID = Grammar(
    r"(arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:)?[A-Za-z0-9_/+=.@-]{1,519}",
    "a secret's name in this account and region, or its ARN",
)
# A staging label, and the token that made a version.
# https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
SECRET_STAGE = Grammar("[!-~]{1,256}", "a staging label, such as AWSPREVIOUS")
SECRET_VERSION = Grammar("[!-~]{32,64}", "the id of a version, of 32 to 64 characters")
# The name of one that has a path begins with a slash.
# https://docs.aws.amazon.com/systems-manager/latest/userguide/sysman-paramstore-su-create.html
PARAMETER = Grammar(
    r"(?=.{1,2048}$)((arn:aws[a-z-]*:ssm:[a-z0-9-]+:[0-9]{12}:parameter)?(/[A-Za-z0-9_.-]+)+|[A-Za-z0-9_.-]+)",
    "a parameter's name in this account and region, such as /apps/api/token, or its ARN",
)
PARAMETER_VERSION = Grammar("[1-9][0-9]{0,18}", "the number of a version, in quotes")
# https://docs.aws.amazon.com/systems-manager/latest/userguide/sysman-paramstore-labels.html
PARAMETER_LABEL = Grammar("[A-Za-z_.-][A-Za-z0-9_.-]{0,99}", "a parameter's label, such as production")
# Relative, of parts that are no `.` or `..`: it stays in the folder of the file of objects.
FILE = Grammar(
    r"(?!.{513})(?!\.{1,2}/)(?!.*/\.{0,2}(/|$))[^/\\\0-\x1f][^\\\0-\x1f]*",
    "the path of a file beside the file of objects, such as config/ca.pem",
)
MEMBER = Grammar(r"(?s).{1,256}", "the name of a member of the JSON text that is kept there")
# https://kubernetes.io/docs/concepts/configuration/secret/#secret-types
FULL_TYPE = Grammar(
    r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|Opaque",
    "a type as the API server calls it, such as example.com/token",
)
# https://kubernetes.io/docs/concepts/configuration/secret/#restriction-names-data
DATA_KEY = Grammar(r"(?!\.$|\.\.)[-._a-zA-Z0-9]{1,253}", "a key of letters, digits, -, _ and .")
