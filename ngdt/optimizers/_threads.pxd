cdef extern from "team.h" nogil:
    ctypedef struct ngdt_team:
        int size
    void ngdt_team_init(ngdt_team *team, int size) noexcept
    int ngdt_team_ticket(ngdt_team *team) noexcept
    int ngdt_team_meet(ngdt_team *team) noexcept
    void ngdt_team_abort(ngdt_team *team) noexcept
