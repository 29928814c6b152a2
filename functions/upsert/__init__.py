"""Refresh one image-pull Secret in every namespace of an EKS cluster, without a moment in which it is absent.

The data flow, from event to evidence:

    event + environment ─► settings                                (settings.py)
    ECR tokens ─► logins ─► docker config ─► manifest              (adapters/ecr.py, core/docker_config.py, manifest.py)
    EKS endpoint + CA + bearer token ─► the cluster                (adapters/eks.py, adapters/kube.py)
    namespaces of the cluster ─► plan                              (core/namespaces.py)
    plan, manifest ─► one server-side-apply PATCH each ─► answers  (refresh.py, adapters/kube.py)
    answers ─► outcomes ─► log records, metrics, an error if any   (core/outcomes.py, telemetry.py, handlers/)

Imports point one way: handlers → telemetry, adapters, use cases → core → errors.
"""
