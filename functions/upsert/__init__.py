"""Keep Secrets and ConfigMaps in EKS clusters as their source has them, without a moment in which one is absent.

The data flow, from event to evidence:

    file of objects + environment ─► config; event ─► request              (config.py, request.py, audit_events.py)
    refs of the objects ─► sources, each read once ─► material             (sources/)
    material ─► kind ─► desired ─► document                                (kinds/, core/document.py)
    EKS endpoint + CA + bearer token ─► the cluster                        (kube/access.py, bearer.py, api.py)
    namespaces of the cluster ─► plan: objects with a namespace each                  (core/planning.py)
    plan, documents ─► one server-side-apply PATCH each ─► answers         (refresh.py, kube/writer.py)
    answers ─► outcomes ─► log records, metrics, answer, an error if any   (core/outcomes.py, records.py, handlers/)

Imports point one way: handlers → wiring → use cases, records, sources, kinds, kube → config, request, telemetry, aws →
core → errors. `wiring` is where the parts are put together.
"""
