// What Python and the core have in common. Python declares none of it: it asks `names` for the fields, their offsets
// and the numbers that they point to.
#pragma once

#include <cstddef>
#include <cstdint>

static_assert(sizeof(void*) == 8, "native.py passes addresses of 64 bits");

enum Ties : int64_t { STABLE, WORST, BEST, DOCID, MEAN, IDEAL };  // the last one needs no scores
enum Kind : int64_t { GAINS, PRECISIONS, CASCADE, PRECISIONS_BY_HITS };

struct Documents {  // of all queries
    int64_t n_queries;
    const int64_t* start;  // (n_queries + 1) where the ranked documents of each query begin
    const int64_t* rows;   // their rows in the input; null if these are 0, 1, 2, ...
    const int32_t* grade;  // by row, the grade index; 0 means "no document"
    const int64_t* docid;  // by row, the order of documents with equal scores; null except for DOCID
    int64_t n_grades;
    const int64_t* order;  // of the queries, in windows of so many: neighbours have similar lengths
    int64_t window;
    const double* score;  // by row; it and the treatment of ties differ from call to call
    Ties ties;
};

struct Declaration {  // of metrics that differ only in the cutoff
    Kind kind;
    int64_t n_cutoffs;
    const int64_t* cutoff;         // ascending
    const int64_t* out_row;        // row of the output for each cutoff
    const double* by_grade;        // a value for each grade index
    const double* by_row;          // or one for each row of the input; null if by grade
    const double* by_rank;         // a value for each rank
    const int64_t* by_rank_start;  // where each query's values by rank begin; null if all queries share them
    const double* by_query;        // a factor of by_grade for each query; null is 1
    const double* divisor;         // (cutoffs x queries)
    int64_t effective_depth;       // further down, values by rank are negligible
};

struct Name {  // of a field with its offset, or of a value with its number
    const char* name;
    int64_t number;
    const char* kind;  // NumPy's name of the numbers that a field points to; null if it is a number itself
};

template <class Field>
constexpr const char* KIND_OF = nullptr;
template <>
constexpr const char* KIND_OF<const double*> = "f8";
template <>
constexpr const char* KIND_OF<const int64_t*> = "i8";
template <>
constexpr const char* KIND_OF<const int32_t*> = "i4";

#define FIELD(type, field) {#field, offsetof(type, field), KIND_OF<decltype(type::field)>}
const Name FIELDS_OF_DOCUMENTS[] = {
    FIELD(Documents, n_queries),
    FIELD(Documents, start),
    FIELD(Documents, rows),
    FIELD(Documents, grade),
    FIELD(Documents, docid),
    FIELD(Documents, n_grades),
    FIELD(Documents, order),
    FIELD(Documents, window),
    FIELD(Documents, score),
    FIELD(Documents, ties),
    {},
};
const Name FIELDS_OF_DECLARATION[] = {
    FIELD(Declaration, kind),    FIELD(Declaration, n_cutoffs),       FIELD(Declaration, cutoff),
    FIELD(Declaration, out_row), FIELD(Declaration, by_grade),        FIELD(Declaration, by_row),
    FIELD(Declaration, by_rank), FIELD(Declaration, by_rank_start),   FIELD(Declaration, by_query),
    FIELD(Declaration, divisor), FIELD(Declaration, effective_depth), {},
};
#undef FIELD
const Name TIES[] = {
    {"stable", STABLE}, {"worst", WORST}, {"best", BEST}, {"docid", DOCID}, {"mean", MEAN}, {"ideal", IDEAL}, {},
};
const Name KINDS[] = {
    {"gains", GAINS}, {"precisions", PRECISIONS}, {"cascade", CASCADE}, {"precisions_by_hits", PRECISIONS_BY_HITS}, {},
};
static_assert(sizeof FIELDS_OF_DOCUMENTS / sizeof(Name) == sizeof(Documents) / 8 + 1, "a field is missing");
static_assert(sizeof FIELDS_OF_DECLARATION / sizeof(Name) == sizeof(Declaration) / 8 + 1, "a field is missing");
