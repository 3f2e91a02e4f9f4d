// Made from the contract by `make contract`; not to be edited.
#include "nodesift_contract.h"

#ifdef __wasm__

__attribute__((import_module("nodesift:predicate/pod-labels@0.2.0"), import_name("namespace")))
extern void import_pod_labels_namespace(ns_text *);

ns_text ns_pod_labels_namespace(void) {
    ns_text result;
    import_pod_labels_namespace(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-labels@0.2.0"), import_name("label")))
extern void import_pod_labels_label(const char *, size_t, ns_option_text *);

ns_option_text ns_pod_labels_label(ns_text key) {
    ns_option_text result;
    import_pod_labels_label(key.data, key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-annotations@0.2.0"), import_name("annotation")))
extern void import_pod_annotations_annotation(const char *, size_t, ns_option_text *);

ns_option_text ns_pod_annotations_annotation(ns_text key) {
    ns_option_text result;
    import_pod_annotations_annotation(key.data, key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-placement@0.2.0"), import_name("node-name")))
extern void import_pod_placement_node_name(ns_option_text *);

ns_option_text ns_pod_placement_node_name(void) {
    ns_option_text result;
    import_pod_placement_node_name(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-placement@0.2.0"), import_name("node-selector")))
extern void import_pod_placement_node_selector(ns_list_tuple_text_text *);

ns_list_tuple_text_text ns_pod_placement_node_selector(void) {
    ns_list_tuple_text_text result;
    import_pod_placement_node_selector(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-placement@0.2.0"), import_name("required-terms")))
extern void import_pod_placement_required_terms(ns_option_list_pod_placement_term *);

ns_option_list_pod_placement_term ns_pod_placement_required_terms(void) {
    ns_option_list_pod_placement_term result;
    import_pod_placement_required_terms(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-placement@0.2.0"), import_name("preferred-terms")))
extern void import_pod_placement_preferred_terms(ns_option_list_pod_placement_preferred_term *);

ns_option_list_pod_placement_preferred_term ns_pod_placement_preferred_terms(void) {
    ns_option_list_pod_placement_preferred_term result;
    import_pod_placement_preferred_terms(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-tolerations@0.2.0"), import_name("tolerations")))
extern void import_pod_tolerations_tolerations(ns_list_pod_tolerations_toleration *);

ns_list_pod_tolerations_toleration ns_pod_tolerations_tolerations(void) {
    ns_list_pod_tolerations_toleration result;
    import_pod_tolerations_tolerations(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-resources@0.2.0"), import_name("requests")))
extern void import_pod_resources_requests(ns_list_pod_resources_request *);

ns_list_pod_resources_request ns_pod_resources_requests(void) {
    ns_list_pod_resources_request result;
    import_pod_resources_requests(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-non-zero-requests@0.2.0"), import_name("requests")))
extern void import_pod_non_zero_requests_requests(ns_list_pod_resources_request *);

ns_list_pod_resources_request ns_pod_non_zero_requests_requests(void) {
    ns_list_pod_resources_request result;
    import_pod_non_zero_requests_requests(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-images@0.2.0"), import_name("containers")))
extern void import_pod_images_containers(ns_list_text *);

ns_list_text ns_pod_images_containers(void) {
    ns_list_text result;
    import_pod_images_containers(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-images@0.2.0"), import_name("volumes")))
extern void import_pod_images_volumes(ns_list_text *);

ns_list_text ns_pod_images_volumes(void) {
    ns_list_text result;
    import_pod_images_volumes(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-spread@0.2.0"), import_name("constraints")))
extern void import_pod_spread_constraints(ns_list_pod_spread_constraint *);

ns_list_pod_spread_constraint ns_pod_spread_constraints(void) {
    ns_list_pod_spread_constraint result;
    import_pod_spread_constraints(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-spread@0.2.0"), import_name("default-selector")))
extern void import_pod_spread_default_selector(ns_option_selectors_label_selector *);

ns_option_selectors_label_selector ns_pod_spread_default_selector(void) {
    ns_option_selectors_label_selector result;
    import_pod_spread_default_selector(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-affinity@0.2.0"), import_name("affinity")))
extern void import_pod_affinity_affinity(ns_list_pod_affinity_term *);

ns_list_pod_affinity_term ns_pod_affinity_affinity(void) {
    ns_list_pod_affinity_term result;
    import_pod_affinity_affinity(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-affinity@0.2.0"), import_name("anti-affinity")))
extern void import_pod_affinity_anti_affinity(ns_list_pod_affinity_term *);

ns_list_pod_affinity_term ns_pod_affinity_anti_affinity(void) {
    ns_list_pod_affinity_term result;
    import_pod_affinity_anti_affinity(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-affinity@0.2.0"), import_name("invalid-preferred")))
extern void import_pod_affinity_invalid_preferred(ns_tuple_list_pod_affinity_term_list_pod_affinity_term *);

ns_tuple_list_pod_affinity_term_list_pod_affinity_term ns_pod_affinity_invalid_preferred(void) {
    ns_tuple_list_pod_affinity_term_list_pod_affinity_term result;
    import_pod_affinity_invalid_preferred(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-preferred-affinity@0.2.0"), import_name("affinity")))
extern void import_pod_preferred_affinity_affinity(ns_list_tuple_s32_pod_affinity_term *);

ns_list_tuple_s32_pod_affinity_term ns_pod_preferred_affinity_affinity(void) {
    ns_list_tuple_s32_pod_affinity_term result;
    import_pod_preferred_affinity_affinity(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-preferred-affinity@0.2.0"), import_name("anti-affinity")))
extern void import_pod_preferred_affinity_anti_affinity(ns_list_tuple_s32_pod_affinity_term *);

ns_list_tuple_s32_pod_affinity_term ns_pod_preferred_affinity_anti_affinity(void) {
    ns_list_tuple_s32_pod_affinity_term result;
    import_pod_preferred_affinity_anti_affinity(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-features@0.2.0"), import_name("required")))
extern void import_pod_features_required(ns_list_text *);

ns_list_text ns_pod_features_required(void) {
    ns_list_text result;
    import_pod_features_required(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-volumes@0.2.0"), import_name("volumes")))
extern void import_pod_volumes_volumes(ns_list_pod_volumes_volume *);

ns_list_pod_volumes_volume ns_pod_volumes_volumes(void) {
    ns_list_pod_volumes_volume result;
    import_pod_volumes_volumes(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-volumes@0.2.0"), import_name("owner")))
extern void import_pod_volumes_owner(ns_tuple_text_text_text *);

ns_tuple_text_text_text ns_pod_volumes_owner(void) {
    ns_tuple_text_text_text result;
    import_pod_volumes_owner(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/namespace-labels@0.2.0"), import_name("label")))
extern void import_namespace_labels_label(const char *, size_t, ns_option_text *);

ns_option_text ns_namespace_labels_label(ns_text key) {
    ns_option_text result;
    import_namespace_labels_label(key.data, key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-spec@0.2.0"), import_name("priority")))
extern int32_t import_pod_spec_priority(void);

int32_t ns_pod_spec_priority(void) {
    return import_pod_spec_priority();
}

__attribute__((import_module("nodesift:predicate/pod-spec@0.2.0"), import_name("priority-class")))
extern void import_pod_spec_priority_class(ns_option_text *);

ns_option_text ns_pod_spec_priority_class(void) {
    ns_option_text result;
    import_pod_spec_priority_class(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-spec@0.2.0"), import_name("service-account")))
extern void import_pod_spec_service_account(ns_option_text *);

ns_option_text ns_pod_spec_service_account(void) {
    ns_option_text result;
    import_pod_spec_service_account(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-spec@0.2.0"), import_name("runtime-class")))
extern void import_pod_spec_runtime_class(ns_option_text *);

ns_option_text ns_pod_spec_runtime_class(void) {
    ns_option_text result;
    import_pod_spec_runtime_class(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-spec@0.2.0"), import_name("host-network")))
extern bool import_pod_spec_host_network(void);

bool ns_pod_spec_host_network(void) {
    return import_pod_spec_host_network();
}

__attribute__((import_module("nodesift:predicate/pod-spec@0.2.0"), import_name("images")))
extern void import_pod_spec_images(ns_list_text *);

ns_list_text ns_pod_spec_images(void) {
    ns_list_text result;
    import_pod_spec_images(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-spec@0.2.0"), import_name("scheduler-name")))
extern void import_pod_spec_scheduler_name(ns_text *);

ns_text ns_pod_spec_scheduler_name(void) {
    ns_text result;
    import_pod_spec_scheduler_name(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-owner@0.2.0"), import_name("controller")))
extern void import_pod_owner_controller(ns_option_pod_owner_owner *);

ns_option_pod_owner_owner ns_pod_owner_controller(void) {
    ns_option_pod_owner_owner result;
    import_pod_owner_controller(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-owner@0.2.0"), import_name("controller-uid")))
extern void import_pod_owner_controller_uid(ns_option_text *);

ns_option_text ns_pod_owner_controller_uid(void) {
    ns_option_text result;
    import_pod_owner_controller_uid(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-claims@0.2.0"), import_name("claims")))
extern void import_pod_claims_claims(ns_result_list_pod_claims_claim_pod_claims_obstacle *);

ns_result_list_pod_claims_claim_pod_claims_obstacle ns_pod_claims_claims(void) {
    ns_result_list_pod_claims_claim_pod_claims_obstacle result;
    import_pod_claims_claims(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-claims@0.2.0"), import_name("extended")))
extern void import_pod_claims_extended(ns_option_pod_claims_extended_resources *);

ns_option_pod_claims_extended_resources ns_pod_claims_extended(void) {
    ns_option_pod_claims_extended_resources result;
    import_pod_claims_extended(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-claims@0.2.0"), import_name("claim-name")))
extern void import_pod_claims_claim_name(uint32_t, ns_text *);

ns_text ns_pod_claims_claim_name(uint32_t claim) {
    ns_text result;
    import_pod_claims_claim_name(claim, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-claims@0.2.0"), import_name("chosen")))
extern void import_pod_claims_chosen(uint32_t, ns_list_u32 *);

ns_list_u32 ns_pod_claims_chosen(uint32_t claim) {
    ns_list_u32 result;
    import_pod_claims_chosen(claim, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/pod-claims@0.2.0"), import_name("deriving")))
extern void import_pod_claims_deriving(uint32_t, ns_list_u32 *);

ns_list_u32 ns_pod_claims_deriving(uint32_t claim) {
    ns_list_u32 result;
    import_pod_claims_deriving(claim, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-identity@0.2.0"), import_name("names")))
extern void import_node_identity_names(ns_list_text *);

ns_list_text ns_node_identity_names(void) {
    ns_list_text result;
    import_node_identity_names(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-identity@0.2.0"), import_name("row")))
extern void import_node_identity_row(const char *, size_t, ns_option_u32 *);

ns_option_u32 ns_node_identity_row(ns_text name) {
    ns_option_u32 result;
    import_node_identity_row(name.data, name.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-labels@0.2.0"), import_name("column")))
extern void import_node_labels_column(const char *, size_t, ns_list_u32 *);

ns_list_u32 ns_node_labels_column(ns_text key) {
    ns_list_u32 result;
    import_node_labels_column(key.data, key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-labels@0.2.0"), import_name("code")))
extern void import_node_labels_code(const char *, size_t, const char *, size_t, ns_option_u32 *);

ns_option_u32 ns_node_labels_code(ns_text key, ns_text text) {
    ns_option_u32 result;
    import_node_labels_code(key.data, key.length, text.data, text.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-labels@0.2.0"), import_name("dictionary")))
extern void import_node_labels_dictionary(const char *, size_t, ns_list_text *);

ns_list_text ns_node_labels_dictionary(ns_text key) {
    ns_list_text result;
    import_node_labels_dictionary(key.data, key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-labels@0.2.0"), import_name("integers")))
extern void import_node_labels_integers(const char *, size_t, ns_list_s64 *);

ns_list_s64 ns_node_labels_integers(ns_text key) {
    ns_list_s64 result;
    import_node_labels_integers(key.data, key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-labels@0.2.0"), import_name("rows-in")))
extern uint32_t import_node_labels_rows_in(const char *, size_t, const ns_text *, size_t);

uint32_t ns_node_labels_rows_in(ns_text key, ns_list_text values) {
    return import_node_labels_rows_in(key.data, key.length, values.items, values.length);
}

__attribute__((import_module("nodesift:predicate/node-labels@0.2.0"), import_name("rows-with")))
extern uint32_t import_node_labels_rows_with(const char *, size_t);

uint32_t ns_node_labels_rows_with(ns_text key) {
    return import_node_labels_rows_with(key.data, key.length);
}

__attribute__((import_module("nodesift:predicate/node-annotations@0.2.0"), import_name("column")))
extern void import_node_annotations_column(const char *, size_t, ns_list_u32 *);

ns_list_u32 ns_node_annotations_column(ns_text key) {
    ns_list_u32 result;
    import_node_annotations_column(key.data, key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-annotations@0.2.0"), import_name("code")))
extern void import_node_annotations_code(const char *, size_t, const char *, size_t, ns_option_u32 *);

ns_option_u32 ns_node_annotations_code(ns_text key, ns_text text) {
    ns_option_u32 result;
    import_node_annotations_code(key.data, key.length, text.data, text.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-annotations@0.2.0"), import_name("dictionary")))
extern void import_node_annotations_dictionary(const char *, size_t, ns_list_text *);

ns_list_text ns_node_annotations_dictionary(ns_text key) {
    ns_list_text result;
    import_node_annotations_dictionary(key.data, key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-annotations@0.2.0"), import_name("integers")))
extern void import_node_annotations_integers(const char *, size_t, ns_list_s64 *);

ns_list_s64 ns_node_annotations_integers(ns_text key) {
    ns_list_s64 result;
    import_node_annotations_integers(key.data, key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-annotations@0.2.0"), import_name("rows-in")))
extern uint32_t import_node_annotations_rows_in(const char *, size_t, const ns_text *, size_t);

uint32_t ns_node_annotations_rows_in(ns_text key, ns_list_text values) {
    return import_node_annotations_rows_in(key.data, key.length, values.items, values.length);
}

__attribute__((import_module("nodesift:predicate/node-annotations@0.2.0"), import_name("rows-with")))
extern uint32_t import_node_annotations_rows_with(const char *, size_t);

uint32_t ns_node_annotations_rows_with(ns_text key) {
    return import_node_annotations_rows_with(key.data, key.length);
}

__attribute__((import_module("nodesift:predicate/node-taints@0.2.0"), import_name("unschedulable")))
extern void import_node_taints_unschedulable(ns_list_u8 *);

ns_list_u8 ns_node_taints_unschedulable(void) {
    ns_list_u8 result;
    import_node_taints_unschedulable(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-taints@0.2.0"), import_name("sets")))
extern void import_node_taints_sets(ns_list_list_node_taints_taint *);

ns_list_list_node_taints_taint ns_node_taints_sets(void) {
    ns_list_list_node_taints_taint result;
    import_node_taints_sets(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-taints@0.2.0"), import_name("column")))
extern void import_node_taints_column(ns_list_u32 *);

ns_list_u32 ns_node_taints_column(void) {
    ns_list_u32 result;
    import_node_taints_column(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-taints@0.2.0"), import_name("rows-unschedulable")))
extern uint32_t import_node_taints_rows_unschedulable(void);

uint32_t ns_node_taints_rows_unschedulable(void) {
    return import_node_taints_rows_unschedulable();
}

__attribute__((import_module("nodesift:predicate/node-taints@0.2.0"), import_name("rows-untolerated")))
extern uint32_t import_node_taints_rows_untolerated(void);

uint32_t ns_node_taints_rows_untolerated(void) {
    return import_node_taints_rows_untolerated();
}

__attribute__((import_module("nodesift:predicate/node-resources@0.2.0"), import_name("allocatable")))
extern void import_node_resources_allocatable(const char *, size_t, ns_list_s64 *);

ns_list_s64 ns_node_resources_allocatable(ns_text resource) {
    ns_list_s64 result;
    import_node_resources_allocatable(resource.data, resource.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-resources@0.2.0"), import_name("requested")))
extern void import_node_resources_requested(const char *, size_t, ns_list_s64 *);

ns_list_s64 ns_node_resources_requested(ns_text resource) {
    ns_list_s64 result;
    import_node_resources_requested(resource.data, resource.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-resources@0.2.0"), import_name("foreign")))
extern void import_node_resources_foreign(const char *, size_t, ns_list_s64 *);

ns_list_s64 ns_node_resources_foreign(ns_text resource) {
    ns_list_s64 result;
    import_node_resources_foreign(resource.data, resource.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-resources@0.2.0"), import_name("free")))
extern void import_node_resources_free(const char *, size_t, ns_list_s64 *);

ns_list_s64 ns_node_resources_free(ns_text resource) {
    ns_list_s64 result;
    import_node_resources_free(resource.data, resource.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-resources@0.2.0"), import_name("pods")))
extern void import_node_resources_pods(ns_list_s64 *);

ns_list_s64 ns_node_resources_pods(void) {
    ns_list_s64 result;
    import_node_resources_pods(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-resources@0.2.0"), import_name("foreign-pods")))
extern void import_node_resources_foreign_pods(ns_list_s64 *);

ns_list_s64 ns_node_resources_foreign_pods(void) {
    ns_list_s64 result;
    import_node_resources_foreign_pods(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-resources@0.2.0"), import_name("pod-limit")))
extern void import_node_resources_pod_limit(ns_list_s64 *);

ns_list_s64 ns_node_resources_pod_limit(void) {
    ns_list_s64 result;
    import_node_resources_pod_limit(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-resources@0.2.0"), import_name("pod-room")))
extern void import_node_resources_pod_room(ns_list_s64 *);

ns_list_s64 ns_node_resources_pod_room(void) {
    ns_list_s64 result;
    import_node_resources_pod_room(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-resources@0.2.0"), import_name("device-class-serves")))
extern bool import_node_resources_device_class_serves(const char *, size_t);

bool ns_node_resources_device_class_serves(ns_text resource) {
    return import_node_resources_device_class_serves(resource.data, resource.length);
}

__attribute__((import_module("nodesift:predicate/node-resources@0.2.0"), import_name("rows-with-free")))
extern uint32_t import_node_resources_rows_with_free(const char *, size_t, int64_t);

uint32_t ns_node_resources_rows_with_free(ns_text resource, int64_t amount) {
    return import_node_resources_rows_with_free(resource.data, resource.length, amount);
}

__attribute__((import_module("nodesift:predicate/node-sums@0.2.0"), import_name("column")))
extern void import_node_sums_column(const char *, size_t, ns_list_s64 *);

ns_list_s64 ns_node_sums_column(ns_text name) {
    ns_list_s64 result;
    import_node_sums_column(name.data, name.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-non-zero-requests@0.2.0"), import_name("requested")))
extern void import_node_non_zero_requests_requested(const char *, size_t, ns_list_s64 *);

ns_list_s64 ns_node_non_zero_requests_requested(ns_text resource) {
    ns_list_s64 result;
    import_node_non_zero_requests_requested(resource.data, resource.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-ports@0.2.0"), import_name("conflicts")))
extern void import_node_ports_conflicts(ns_option_list_u8 *);

ns_option_list_u8 ns_node_ports_conflicts(void) {
    ns_option_list_u8 result;
    import_node_ports_conflicts(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-features@0.2.0"), import_name("sets")))
extern void import_node_features_sets(ns_list_list_text *);

ns_list_list_text ns_node_features_sets(void) {
    ns_list_list_text result;
    import_node_features_sets(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-features@0.2.0"), import_name("column")))
extern void import_node_features_column(ns_list_u32 *);

ns_list_u32 ns_node_features_column(void) {
    ns_list_u32 result;
    import_node_features_column(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-conditions@0.2.0"), import_name("column")))
extern void import_node_conditions_column(const char *, size_t, ns_list_u8 *);

ns_list_u8 ns_node_conditions_column(ns_text type) {
    ns_list_u8 result;
    import_node_conditions_column(type.data, type.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-info@0.2.0"), import_name("column")))
extern void import_node_info_column(ns_node_info_field, ns_list_u32 *);

ns_list_u32 ns_node_info_column(ns_node_info_field field) {
    ns_list_u32 result;
    import_node_info_column(field, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-info@0.2.0"), import_name("code")))
extern void import_node_info_code(ns_node_info_field, const char *, size_t, ns_option_u32 *);

ns_option_u32 ns_node_info_code(ns_node_info_field field, ns_text text) {
    ns_option_u32 result;
    import_node_info_code(field, text.data, text.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-info@0.2.0"), import_name("dictionary")))
extern void import_node_info_dictionary(ns_node_info_field, ns_list_text *);

ns_list_text ns_node_info_dictionary(ns_node_info_field field) {
    ns_list_text result;
    import_node_info_dictionary(field, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-images@0.2.0"), import_name("present")))
extern void import_node_images_present(const char *, size_t, ns_list_u8 *);

ns_list_u8 ns_node_images_present(ns_text image) {
    ns_list_u8 result;
    import_node_images_present(image.data, image.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-age@0.2.0"), import_name("created")))
extern void import_node_age_created(ns_list_s64 *);

ns_list_s64 ns_node_age_created(void) {
    ns_list_s64 result;
    import_node_age_created(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-devices@0.2.0"), import_name("devices")))
extern void import_node_devices_devices(const ns_list_text *, size_t, const ns_text *, size_t, bool, ns_node_devices_device_columns *);

ns_node_devices_device_columns ns_node_devices_devices(ns_node_devices_query query) {
    ns_node_devices_device_columns result;
    import_node_devices_devices(query.selector_lists.items, query.selector_lists.length, query.attributes.items, query.attributes.length, query.names, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/node-parties@0.2.0"), import_name("unsuitable")))
extern void import_node_parties_unsuitable(ns_list_node_parties_party_column *);

ns_list_node_parties_party_column ns_node_parties_unsuitable(void) {
    ns_list_node_parties_party_column result;
    import_node_parties_unsuitable(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-pods@0.2.0"), import_name("matching")))
extern void import_cluster_pods_matching(const ns_cluster_pods_pod_selector *, size_t, bool, ns_list_u32 *);

ns_list_u32 ns_cluster_pods_matching(ns_list_cluster_pods_pod_selector selectors, bool terminating) {
    ns_list_u32 result;
    import_cluster_pods_matching(selectors.items, selectors.length, terminating, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-pods@0.2.0"), import_name("matches-this-pod")))
extern bool import_cluster_pods_matches_this_pod(const ns_cluster_pods_pod_selector *, size_t);

bool ns_cluster_pods_matches_this_pod(ns_list_cluster_pods_pod_selector selectors) {
    return import_cluster_pods_matches_this_pod(selectors.items, selectors.length);
}

__attribute__((import_module("nodesift:predicate/cluster-pods@0.2.0"), import_name("requested")))
extern void import_cluster_pods_requested(const ns_cluster_pods_pod_selector *, size_t, const char *, size_t, bool, ns_list_s64 *);

ns_list_s64 ns_cluster_pods_requested(ns_list_cluster_pods_pod_selector selectors, ns_text resource, bool terminating) {
    ns_list_s64 result;
    import_cluster_pods_requested(selectors.items, selectors.length, resource.data, resource.length, terminating, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-controllers@0.2.0"), import_name("same-controller")))
extern void import_cluster_controllers_same_controller(bool, ns_option_list_u32 *);

ns_option_list_u32 ns_cluster_controllers_same_controller(bool terminating) {
    ns_option_list_u32 result;
    import_cluster_controllers_same_controller(terminating, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-candidates@0.2.0"), import_name("feasible")))
extern void import_cluster_candidates_feasible(ns_list_u8 *);

ns_list_u8 ns_cluster_candidates_feasible(void) {
    ns_list_u8 result;
    import_cluster_candidates_feasible(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-affinity@0.2.0"), import_name("topology-keys")))
extern void import_cluster_affinity_topology_keys(ns_list_text *);

ns_list_text ns_cluster_affinity_topology_keys(void) {
    ns_list_text result;
    import_cluster_affinity_topology_keys(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-affinity@0.2.0"), import_name("anti-affinity-terms")))
extern void import_cluster_affinity_anti_affinity_terms(const char *, size_t, ns_list_u32 *);

ns_list_u32 ns_cluster_affinity_anti_affinity_terms(ns_text topology_key) {
    ns_list_u32 result;
    import_cluster_affinity_anti_affinity_terms(topology_key.data, topology_key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-preferences@0.2.0"), import_name("topology-keys")))
extern void import_cluster_preferences_topology_keys(ns_list_text *);

ns_list_text ns_cluster_preferences_topology_keys(void) {
    ns_list_text result;
    import_cluster_preferences_topology_keys(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-preferences@0.2.0"), import_name("preferred-terms")))
extern void import_cluster_preferences_preferred_terms(const char *, size_t, ns_list_u32 *);

ns_list_u32 ns_cluster_preferences_preferred_terms(ns_text topology_key) {
    ns_list_u32 result;
    import_cluster_preferences_preferred_terms(topology_key.data, topology_key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-preferences@0.2.0"), import_name("weights")))
extern void import_cluster_preferences_weights(const char *, size_t, ns_list_s64 *);

ns_list_s64 ns_cluster_preferences_weights(ns_text topology_key) {
    ns_list_s64 result;
    import_cluster_preferences_weights(topology_key.data, topology_key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-preferences@0.2.0"), import_name("required-terms")))
extern void import_cluster_preferences_required_terms(const char *, size_t, ns_list_u32 *);

ns_list_u32 ns_cluster_preferences_required_terms(ns_text topology_key) {
    ns_list_u32 result;
    import_cluster_preferences_required_terms(topology_key.data, topology_key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-volume-use@0.2.0"), import_name("disk-users")))
extern void import_cluster_volume_use_disk_users(ns_pod_volumes_disk_kind, const char *, size_t, ns_list_cluster_volume_use_disk_user *);

ns_list_cluster_volume_use_disk_user ns_cluster_volume_use_disk_users(ns_pod_volumes_disk_kind kind, ns_text id) {
    ns_list_cluster_volume_use_disk_user result;
    import_cluster_volume_use_disk_users(kind, id.data, id.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-volume-use@0.2.0"), import_name("claim-users")))
extern uint32_t import_cluster_volume_use_claim_users(const char *, size_t);

uint32_t ns_cluster_volume_use_claim_users(ns_text claim) {
    return import_cluster_volume_use_claim_users(claim.data, claim.length);
}

__attribute__((import_module("nodesift:predicate/cluster-attachments@0.2.0"), import_name("wanted")))
extern void import_cluster_attachments_wanted(bool, ns_result_list_cluster_attachments_attachment_cluster_attachments_obstacle *);

ns_result_list_cluster_attachments_attachment_cluster_attachments_obstacle ns_cluster_attachments_wanted(bool registered) {
    ns_result_list_cluster_attachments_attachment_cluster_attachments_obstacle result;
    import_cluster_attachments_wanted(registered, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-attachments@0.2.0"), import_name("registered")))
extern void import_cluster_attachments_registered(ns_list_u8 *);

ns_list_u8 ns_cluster_attachments_registered(void) {
    ns_list_u8 result;
    import_cluster_attachments_registered(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-attachments@0.2.0"), import_name("limited")))
extern void import_cluster_attachments_limited(ns_list_u8 *);

ns_list_u8 ns_cluster_attachments_limited(void) {
    ns_list_u8 result;
    import_cluster_attachments_limited(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-attachments@0.2.0"), import_name("driver-missing")))
extern void import_cluster_attachments_driver_missing(const char *, size_t, ns_list_u8 *);

ns_list_u8 ns_cluster_attachments_driver_missing(ns_text driver) {
    ns_list_u8 result;
    import_cluster_attachments_driver_missing(driver.data, driver.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-attachments@0.2.0"), import_name("limit")))
extern void import_cluster_attachments_limit(const char *, size_t, ns_list_s64 *);

ns_list_s64 ns_cluster_attachments_limit(ns_text driver) {
    ns_list_s64 result;
    import_cluster_attachments_limit(driver.data, driver.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-attachments@0.2.0"), import_name("used")))
extern void import_cluster_attachments_used(const char *, size_t, ns_list_s64 *);

ns_list_s64 ns_cluster_attachments_used(ns_text driver) {
    ns_list_s64 result;
    import_cluster_attachments_used(driver.data, driver.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-attachments@0.2.0"), import_name("rows-with")))
extern void import_cluster_attachments_rows_with(const char *, size_t, const char *, size_t, ns_list_u32 *);

ns_list_u32 ns_cluster_attachments_rows_with(ns_cluster_attachments_attachment volume) {
    ns_list_u32 result;
    import_cluster_attachments_rows_with(volume.driver.data, volume.driver.length, volume.handle.data, volume.handle.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-attachments@0.2.0"), import_name("uncounted")))
extern void import_cluster_attachments_uncounted(ns_list_cluster_attachments_uncounted_pod *);

ns_list_cluster_attachments_uncounted_pod ns_cluster_attachments_uncounted(void) {
    ns_list_cluster_attachments_uncounted_pod result;
    import_cluster_attachments_uncounted(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-storage@0.2.0"), import_name("claim-named")))
extern void import_cluster_storage_claim_named(const char *, size_t, ns_option_cluster_storage_claim *);

ns_option_cluster_storage_claim ns_cluster_storage_claim_named(ns_text name) {
    ns_option_cluster_storage_claim result;
    import_cluster_storage_claim_named(name.data, name.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-storage@0.2.0"), import_name("volume-named")))
extern void import_cluster_storage_volume_named(const char *, size_t, ns_option_cluster_storage_volume *);

ns_option_cluster_storage_volume ns_cluster_storage_volume_named(ns_text name) {
    ns_option_cluster_storage_volume result;
    import_cluster_storage_volume_named(name.data, name.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-storage@0.2.0"), import_name("volumes-for")))
extern void import_cluster_storage_volumes_for(const char *, size_t, ns_list_cluster_storage_volume *);

ns_list_cluster_storage_volume ns_cluster_storage_volumes_for(ns_text claim) {
    ns_list_cluster_storage_volume result;
    import_cluster_storage_volumes_for(claim.data, claim.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-storage@0.2.0"), import_name("exact-sizes-for")))
extern void import_cluster_storage_exact_sizes_for(const char *, size_t, ns_option_cluster_storage_exact_sizes *);

ns_option_cluster_storage_exact_sizes ns_cluster_storage_exact_sizes_for(ns_text claim) {
    ns_option_cluster_storage_exact_sizes result;
    import_cluster_storage_exact_sizes_for(claim.data, claim.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-storage@0.2.0"), import_name("class-named")))
extern void import_cluster_storage_class_named(const char *, size_t, ns_option_cluster_storage_class *);

ns_option_cluster_storage_class ns_cluster_storage_class_named(ns_text name) {
    ns_option_cluster_storage_class result;
    import_cluster_storage_class_named(name.data, name.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-storage@0.2.0"), import_name("default-class")))
extern void import_cluster_storage_default_class(ns_option_text *);

ns_option_text ns_cluster_storage_default_class(void) {
    ns_option_text result;
    import_cluster_storage_default_class(&result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-storage@0.2.0"), import_name("driver-reports-capacity")))
extern bool import_cluster_storage_driver_reports_capacity(const char *, size_t);

bool ns_cluster_storage_driver_reports_capacity(ns_text driver) {
    return import_cluster_storage_driver_reports_capacity(driver.data, driver.length);
}

__attribute__((import_module("nodesift:predicate/cluster-storage@0.2.0"), import_name("capacities")))
extern void import_cluster_storage_capacities(const char *, size_t, ns_list_cluster_storage_capacity *);

ns_list_cluster_storage_capacity ns_cluster_storage_capacities(ns_text class_name) {
    ns_list_cluster_storage_capacity result;
    import_cluster_storage_capacities(class_name.data, class_name.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-storage@0.2.0"), import_name("migrated")))
extern void import_cluster_storage_migrated(const char *, size_t, ns_list_u8 *);

ns_list_u8 ns_cluster_storage_migrated(ns_text plugin) {
    ns_list_u8 result;
    import_cluster_storage_migrated(plugin.data, plugin.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/cluster-images@0.2.0"), import_name("size")))
extern int64_t import_cluster_images_size(const char *, size_t);

int64_t ns_cluster_images_size(ns_text image) {
    return import_cluster_images_size(image.data, image.length);
}

__attribute__((import_module("nodesift:predicate/time@0.2.0"), import_name("passed")))
extern bool import_time_passed(int64_t);

bool ns_time_passed(int64_t at) {
    return import_time_passed(at);
}

__attribute__((import_module("nodesift:predicate/config-maps@0.2.0"), import_name("entry")))
extern void import_config_maps_entry(const char *, size_t, const char *, size_t, ns_option_text *);

ns_option_text ns_config_maps_entry(ns_text config_map, ns_text key) {
    ns_option_text result;
    import_config_maps_entry(config_map.data, config_map.length, key.data, key.length, &result);
    return result;
}

__attribute__((import_module("nodesift:predicate/row-sets@0.2.0"), import_name("all")))
extern uint32_t import_row_sets_all(void);

uint32_t ns_row_sets_all(void) {
    return import_row_sets_all();
}

__attribute__((import_module("nodesift:predicate/row-sets@0.2.0"), import_name("and")))
extern uint32_t import_row_sets_and(uint32_t, uint32_t);

uint32_t ns_row_sets_and(uint32_t a, uint32_t b) {
    return import_row_sets_and(a, b);
}

__attribute__((import_module("nodesift:predicate/row-sets@0.2.0"), import_name("or")))
extern uint32_t import_row_sets_or(uint32_t, uint32_t);

uint32_t ns_row_sets_or(uint32_t a, uint32_t b) {
    return import_row_sets_or(a, b);
}

__attribute__((import_module("nodesift:predicate/row-sets@0.2.0"), import_name("not")))
extern uint32_t import_row_sets_not(uint32_t);

uint32_t ns_row_sets_not(uint32_t a) {
    return import_row_sets_not(a);
}

__attribute__((import_module("nodesift:predicate/row-sets@0.2.0"), import_name("count")))
extern uint32_t import_row_sets_count(uint32_t);

uint32_t ns_row_sets_count(uint32_t a) {
    return import_row_sets_count(a);
}

__attribute__((import_module("nodesift:predicate/row-sets@0.2.0"), import_name("reject")))
extern void import_row_sets_reject(uint32_t, ns_row_sets_status, const ns_text *, size_t);

void ns_row_sets_reject(uint32_t a, ns_row_sets_failure failure) {
    import_row_sets_reject(a, failure.status, failure.reasons.items, failure.reasons.length);
}

__attribute__((import_module("nodesift:predicate/log@0.2.0"), import_name("write")))
extern void import_log_write(ns_log_level, const char *, size_t);

void ns_log_write(ns_log_level level, ns_text text) {
    import_log_write(level, text.data, text.length);
}

#else

// In `nodesift_test.c`: memory of zeros, the rows of the running evaluation, a maximum for each of them, and the end of a test with
// what it has to define.
void *ns_test_alloc(size_t bytes);
size_t ns_test_rows(void);
const int64_t *ns_test_maxima(void);
_Noreturn void ns_missing(const char *interface, const char *function);

__attribute__((weak)) ns_text ns_pod_labels_namespace(void) {
    return (ns_text){0};
}

__attribute__((weak)) ns_option_text ns_pod_labels_label(ns_text key) {
    (void)key;
    return (ns_option_text){0};
}

__attribute__((weak)) ns_option_text ns_pod_annotations_annotation(ns_text key) {
    (void)key;
    return (ns_option_text){0};
}

__attribute__((weak)) ns_option_text ns_pod_placement_node_name(void) {
    return (ns_option_text){0};
}

__attribute__((weak)) ns_list_tuple_text_text ns_pod_placement_node_selector(void) {
    return (ns_list_tuple_text_text){0};
}

__attribute__((weak)) ns_option_list_pod_placement_term ns_pod_placement_required_terms(void) {
    return (ns_option_list_pod_placement_term){0};
}

__attribute__((weak)) ns_option_list_pod_placement_preferred_term ns_pod_placement_preferred_terms(void) {
    return (ns_option_list_pod_placement_preferred_term){0};
}

__attribute__((weak)) ns_list_pod_tolerations_toleration ns_pod_tolerations_tolerations(void) {
    return (ns_list_pod_tolerations_toleration){0};
}

__attribute__((weak)) ns_list_pod_resources_request ns_pod_resources_requests(void) {
    return (ns_list_pod_resources_request){0};
}

__attribute__((weak)) ns_list_pod_resources_request ns_pod_non_zero_requests_requests(void) {
    return (ns_list_pod_resources_request){0};
}

__attribute__((weak)) ns_list_text ns_pod_images_containers(void) {
    return (ns_list_text){0};
}

__attribute__((weak)) ns_list_text ns_pod_images_volumes(void) {
    return (ns_list_text){0};
}

__attribute__((weak)) ns_list_pod_spread_constraint ns_pod_spread_constraints(void) {
    return (ns_list_pod_spread_constraint){0};
}

__attribute__((weak)) ns_option_selectors_label_selector ns_pod_spread_default_selector(void) {
    return (ns_option_selectors_label_selector){0};
}

__attribute__((weak)) ns_list_pod_affinity_term ns_pod_affinity_affinity(void) {
    return (ns_list_pod_affinity_term){0};
}

__attribute__((weak)) ns_list_pod_affinity_term ns_pod_affinity_anti_affinity(void) {
    return (ns_list_pod_affinity_term){0};
}

__attribute__((weak)) ns_tuple_list_pod_affinity_term_list_pod_affinity_term ns_pod_affinity_invalid_preferred(void) {
    return (ns_tuple_list_pod_affinity_term_list_pod_affinity_term){0};
}

__attribute__((weak)) ns_list_tuple_s32_pod_affinity_term ns_pod_preferred_affinity_affinity(void) {
    return (ns_list_tuple_s32_pod_affinity_term){0};
}

__attribute__((weak)) ns_list_tuple_s32_pod_affinity_term ns_pod_preferred_affinity_anti_affinity(void) {
    return (ns_list_tuple_s32_pod_affinity_term){0};
}

__attribute__((weak)) ns_list_text ns_pod_features_required(void) {
    return (ns_list_text){0};
}

__attribute__((weak)) ns_list_pod_volumes_volume ns_pod_volumes_volumes(void) {
    return (ns_list_pod_volumes_volume){0};
}

__attribute__((weak)) ns_tuple_text_text_text ns_pod_volumes_owner(void) {
    return (ns_tuple_text_text_text){0};
}

__attribute__((weak)) ns_option_text ns_namespace_labels_label(ns_text key) {
    (void)key;
    return (ns_option_text){0};
}

__attribute__((weak)) int32_t ns_pod_spec_priority(void) {
    return 0;
}

__attribute__((weak)) ns_option_text ns_pod_spec_priority_class(void) {
    return (ns_option_text){0};
}

__attribute__((weak)) ns_option_text ns_pod_spec_service_account(void) {
    return (ns_option_text){0};
}

__attribute__((weak)) ns_option_text ns_pod_spec_runtime_class(void) {
    return (ns_option_text){0};
}

__attribute__((weak)) bool ns_pod_spec_host_network(void) {
    return false;
}

__attribute__((weak)) ns_list_text ns_pod_spec_images(void) {
    return (ns_list_text){0};
}

__attribute__((weak)) ns_text ns_pod_spec_scheduler_name(void) {
    return (ns_text){0};
}

__attribute__((weak)) ns_option_pod_owner_owner ns_pod_owner_controller(void) {
    return (ns_option_pod_owner_owner){0};
}

__attribute__((weak)) ns_option_text ns_pod_owner_controller_uid(void) {
    return (ns_option_text){0};
}

__attribute__((weak)) ns_result_list_pod_claims_claim_pod_claims_obstacle ns_pod_claims_claims(void) {
    return (ns_result_list_pod_claims_claim_pod_claims_obstacle){0};
}

__attribute__((weak)) ns_option_pod_claims_extended_resources ns_pod_claims_extended(void) {
    return (ns_option_pod_claims_extended_resources){0};
}

__attribute__((weak)) ns_text ns_pod_claims_claim_name(uint32_t claim) {
    (void)claim;
    return (ns_text){0};
}

__attribute__((weak)) ns_list_u32 ns_pod_claims_chosen(uint32_t claim) {
    (void)claim;
    return (ns_list_u32){0};
}

__attribute__((weak)) ns_list_u32 ns_pod_claims_deriving(uint32_t claim) {
    (void)claim;
    return (ns_list_u32){0};
}

__attribute__((weak)) ns_list_text ns_node_identity_names(void) {
    return (ns_list_text){0};
}

__attribute__((weak)) ns_option_u32 ns_node_identity_row(ns_text name) {
    (void)name;
    return (ns_option_u32){0};
}

__attribute__((weak)) ns_list_u32 ns_node_labels_column(ns_text key) {
    (void)key;
    return (ns_list_u32){ns_test_alloc(ns_test_rows() * sizeof(uint32_t)), ns_test_rows()};
}

__attribute__((weak)) ns_option_u32 ns_node_labels_code(ns_text key, ns_text text) {
    (void)key;
    (void)text;
    return (ns_option_u32){0};
}

__attribute__((weak)) ns_list_text ns_node_labels_dictionary(ns_text key) {
    (void)key;
    return (ns_list_text){0};
}

__attribute__((weak)) ns_list_s64 ns_node_labels_integers(ns_text key) {
    (void)key;
    return (ns_list_s64){0};
}

__attribute__((weak)) uint32_t ns_node_labels_rows_in(ns_text key, ns_list_text values) {
    (void)key;
    (void)values;
    ns_missing("node-labels", "rows-in");
}

__attribute__((weak)) uint32_t ns_node_labels_rows_with(ns_text key) {
    (void)key;
    ns_missing("node-labels", "rows-with");
}

__attribute__((weak)) ns_list_u32 ns_node_annotations_column(ns_text key) {
    (void)key;
    return (ns_list_u32){ns_test_alloc(ns_test_rows() * sizeof(uint32_t)), ns_test_rows()};
}

__attribute__((weak)) ns_option_u32 ns_node_annotations_code(ns_text key, ns_text text) {
    (void)key;
    (void)text;
    return (ns_option_u32){0};
}

__attribute__((weak)) ns_list_text ns_node_annotations_dictionary(ns_text key) {
    (void)key;
    return (ns_list_text){0};
}

__attribute__((weak)) ns_list_s64 ns_node_annotations_integers(ns_text key) {
    (void)key;
    return (ns_list_s64){0};
}

__attribute__((weak)) uint32_t ns_node_annotations_rows_in(ns_text key, ns_list_text values) {
    (void)key;
    (void)values;
    ns_missing("node-annotations", "rows-in");
}

__attribute__((weak)) uint32_t ns_node_annotations_rows_with(ns_text key) {
    (void)key;
    ns_missing("node-annotations", "rows-with");
}

__attribute__((weak)) ns_list_u8 ns_node_taints_unschedulable(void) {
    return (ns_list_u8){ns_test_alloc(ns_test_rows() * sizeof(uint8_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_list_node_taints_taint ns_node_taints_sets(void) {
    return (ns_list_list_node_taints_taint){ns_test_alloc(sizeof(ns_list_node_taints_taint)), 1};
}

__attribute__((weak)) ns_list_u32 ns_node_taints_column(void) {
    return (ns_list_u32){ns_test_alloc(ns_test_rows() * sizeof(uint32_t)), ns_test_rows()};
}

__attribute__((weak)) uint32_t ns_node_taints_rows_unschedulable(void) {
    ns_missing("node-taints", "rows-unschedulable");
}

__attribute__((weak)) uint32_t ns_node_taints_rows_untolerated(void) {
    ns_missing("node-taints", "rows-untolerated");
}

__attribute__((weak)) ns_list_s64 ns_node_resources_allocatable(ns_text resource) {
    (void)resource;
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_s64 ns_node_resources_requested(ns_text resource) {
    (void)resource;
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_s64 ns_node_resources_foreign(ns_text resource) {
    (void)resource;
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_s64 ns_node_resources_free(ns_text resource) {
    (void)resource;
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_s64 ns_node_resources_pods(void) {
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_s64 ns_node_resources_foreign_pods(void) {
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_s64 ns_node_resources_pod_limit(void) {
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_s64 ns_node_resources_pod_room(void) {
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) bool ns_node_resources_device_class_serves(ns_text resource) {
    (void)resource;
    return false;
}

__attribute__((weak)) uint32_t ns_node_resources_rows_with_free(ns_text resource, int64_t amount) {
    (void)resource;
    (void)amount;
    ns_missing("node-resources", "rows-with-free");
}

__attribute__((weak)) ns_list_s64 ns_node_sums_column(ns_text name) {
    (void)name;
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_s64 ns_node_non_zero_requests_requested(ns_text resource) {
    (void)resource;
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) ns_option_list_u8 ns_node_ports_conflicts(void) {
    return (ns_option_list_u8){0};
}

__attribute__((weak)) ns_list_list_text ns_node_features_sets(void) {
    return (ns_list_list_text){ns_test_alloc(sizeof(ns_list_text)), 1};
}

__attribute__((weak)) ns_list_u32 ns_node_features_column(void) {
    return (ns_list_u32){ns_test_alloc(ns_test_rows() * sizeof(uint32_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_u8 ns_node_conditions_column(ns_text type) {
    (void)type;
    return (ns_list_u8){ns_test_alloc(ns_test_rows() * sizeof(uint8_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_u32 ns_node_info_column(ns_node_info_field field) {
    (void)field;
    return (ns_list_u32){ns_test_alloc(ns_test_rows() * sizeof(uint32_t)), ns_test_rows()};
}

__attribute__((weak)) ns_option_u32 ns_node_info_code(ns_node_info_field field, ns_text text) {
    (void)field;
    (void)text;
    return (ns_option_u32){0};
}

__attribute__((weak)) ns_list_text ns_node_info_dictionary(ns_node_info_field field) {
    (void)field;
    return (ns_list_text){0};
}

__attribute__((weak)) ns_list_u8 ns_node_images_present(ns_text image) {
    (void)image;
    return (ns_list_u8){ns_test_alloc(ns_test_rows() * sizeof(uint8_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_s64 ns_node_age_created(void) {
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) ns_node_devices_device_columns ns_node_devices_devices(ns_node_devices_query query) {
    (void)query;
    return (ns_node_devices_device_columns){.codes = {ns_test_alloc(ns_test_rows() * sizeof(uint32_t)), ns_test_rows()}, .situations = {ns_test_alloc(sizeof(ns_node_devices_situation)), 1}};
}

__attribute__((weak)) ns_list_node_parties_party_column ns_node_parties_unsuitable(void) {
    return (ns_list_node_parties_party_column){0};
}

__attribute__((weak)) ns_list_u32 ns_cluster_pods_matching(ns_list_cluster_pods_pod_selector selectors, bool terminating) {
    (void)selectors;
    (void)terminating;
    return (ns_list_u32){ns_test_alloc(ns_test_rows() * sizeof(uint32_t)), ns_test_rows()};
}

__attribute__((weak)) bool ns_cluster_pods_matches_this_pod(ns_list_cluster_pods_pod_selector selectors) {
    (void)selectors;
    return false;
}

__attribute__((weak)) ns_list_s64 ns_cluster_pods_requested(ns_list_cluster_pods_pod_selector selectors, ns_text resource, bool terminating) {
    (void)selectors;
    (void)resource;
    (void)terminating;
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) ns_option_list_u32 ns_cluster_controllers_same_controller(bool terminating) {
    (void)terminating;
    return (ns_option_list_u32){0};
}

__attribute__((weak)) ns_list_u8 ns_cluster_candidates_feasible(void) {
    return (ns_list_u8){ns_test_alloc(ns_test_rows() * sizeof(uint8_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_text ns_cluster_affinity_topology_keys(void) {
    return (ns_list_text){0};
}

__attribute__((weak)) ns_list_u32 ns_cluster_affinity_anti_affinity_terms(ns_text topology_key) {
    (void)topology_key;
    return (ns_list_u32){ns_test_alloc(ns_test_rows() * sizeof(uint32_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_text ns_cluster_preferences_topology_keys(void) {
    return (ns_list_text){0};
}

__attribute__((weak)) ns_list_u32 ns_cluster_preferences_preferred_terms(ns_text topology_key) {
    (void)topology_key;
    return (ns_list_u32){ns_test_alloc(ns_test_rows() * sizeof(uint32_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_s64 ns_cluster_preferences_weights(ns_text topology_key) {
    (void)topology_key;
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_u32 ns_cluster_preferences_required_terms(ns_text topology_key) {
    (void)topology_key;
    return (ns_list_u32){ns_test_alloc(ns_test_rows() * sizeof(uint32_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_cluster_volume_use_disk_user ns_cluster_volume_use_disk_users(ns_pod_volumes_disk_kind kind, ns_text id) {
    (void)kind;
    (void)id;
    return (ns_list_cluster_volume_use_disk_user){0};
}

__attribute__((weak)) uint32_t ns_cluster_volume_use_claim_users(ns_text claim) {
    (void)claim;
    return 0;
}

__attribute__((weak)) ns_result_list_cluster_attachments_attachment_cluster_attachments_obstacle ns_cluster_attachments_wanted(bool registered) {
    (void)registered;
    return (ns_result_list_cluster_attachments_attachment_cluster_attachments_obstacle){0};
}

__attribute__((weak)) ns_list_u8 ns_cluster_attachments_registered(void) {
    return (ns_list_u8){ns_test_alloc(ns_test_rows() * sizeof(uint8_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_u8 ns_cluster_attachments_limited(void) {
    return (ns_list_u8){ns_test_alloc(ns_test_rows() * sizeof(uint8_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_u8 ns_cluster_attachments_driver_missing(ns_text driver) {
    (void)driver;
    return (ns_list_u8){ns_test_alloc(ns_test_rows() * sizeof(uint8_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_s64 ns_cluster_attachments_limit(ns_text driver) {
    (void)driver;
    return (ns_list_s64){ns_test_maxima(), ns_test_rows()};
}

__attribute__((weak)) ns_list_s64 ns_cluster_attachments_used(ns_text driver) {
    (void)driver;
    return (ns_list_s64){ns_test_alloc(ns_test_rows() * sizeof(int64_t)), ns_test_rows()};
}

__attribute__((weak)) ns_list_u32 ns_cluster_attachments_rows_with(ns_cluster_attachments_attachment volume) {
    (void)volume;
    return (ns_list_u32){0};
}

__attribute__((weak)) ns_list_cluster_attachments_uncounted_pod ns_cluster_attachments_uncounted(void) {
    return (ns_list_cluster_attachments_uncounted_pod){0};
}

__attribute__((weak)) ns_option_cluster_storage_claim ns_cluster_storage_claim_named(ns_text name) {
    (void)name;
    return (ns_option_cluster_storage_claim){0};
}

__attribute__((weak)) ns_option_cluster_storage_volume ns_cluster_storage_volume_named(ns_text name) {
    (void)name;
    return (ns_option_cluster_storage_volume){0};
}

__attribute__((weak)) ns_list_cluster_storage_volume ns_cluster_storage_volumes_for(ns_text claim) {
    (void)claim;
    return (ns_list_cluster_storage_volume){0};
}

__attribute__((weak)) ns_option_cluster_storage_exact_sizes ns_cluster_storage_exact_sizes_for(ns_text claim) {
    (void)claim;
    return (ns_option_cluster_storage_exact_sizes){0};
}

__attribute__((weak)) ns_option_cluster_storage_class ns_cluster_storage_class_named(ns_text name) {
    (void)name;
    return (ns_option_cluster_storage_class){0};
}

__attribute__((weak)) ns_option_text ns_cluster_storage_default_class(void) {
    return (ns_option_text){0};
}

__attribute__((weak)) bool ns_cluster_storage_driver_reports_capacity(ns_text driver) {
    (void)driver;
    return false;
}

__attribute__((weak)) ns_list_cluster_storage_capacity ns_cluster_storage_capacities(ns_text class_name) {
    (void)class_name;
    return (ns_list_cluster_storage_capacity){0};
}

__attribute__((weak)) ns_list_u8 ns_cluster_storage_migrated(ns_text plugin) {
    (void)plugin;
    return (ns_list_u8){ns_test_alloc(ns_test_rows() * sizeof(uint8_t)), ns_test_rows()};
}

__attribute__((weak)) int64_t ns_cluster_images_size(ns_text image) {
    (void)image;
    return 0;
}

__attribute__((weak)) bool ns_time_passed(int64_t at) {
    (void)at;
    return false;
}

__attribute__((weak)) ns_option_text ns_config_maps_entry(ns_text config_map, ns_text key) {
    (void)config_map;
    (void)key;
    return (ns_option_text){0};
}

__attribute__((weak)) uint32_t ns_row_sets_all(void) {
    ns_missing("row-sets", "all");
}

__attribute__((weak)) uint32_t ns_row_sets_and(uint32_t a, uint32_t b) {
    (void)a;
    (void)b;
    ns_missing("row-sets", "and");
}

__attribute__((weak)) uint32_t ns_row_sets_or(uint32_t a, uint32_t b) {
    (void)a;
    (void)b;
    ns_missing("row-sets", "or");
}

__attribute__((weak)) uint32_t ns_row_sets_not(uint32_t a) {
    (void)a;
    ns_missing("row-sets", "not");
}

__attribute__((weak)) uint32_t ns_row_sets_count(uint32_t a) {
    (void)a;
    ns_missing("row-sets", "count");
}

__attribute__((weak)) void ns_row_sets_reject(uint32_t a, ns_row_sets_failure failure) {
    (void)a;
    (void)failure;
    ns_missing("row-sets", "reject");
}

__attribute__((weak)) void ns_log_write(ns_log_level level, ns_text text) {
    (void)level;
    (void)text;
    ns_missing("log", "write");
}

#endif
