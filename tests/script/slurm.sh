#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# slurm.sh SOURCE BUILD: docs/slurm on a real slurmctld with two slurmd, one a partition, on this
# machine and in a folder of its own; the devices are simulated. 77 where there is no Slurm.
set -eu
source=$1 build=$2
for program in slurmctld slurmd sbatch; do
    PATH=$PATH:/usr/sbin command -v $program >/dev/null || {
        echo "skipped: no $program (apt install slurm-wlm)"
        exit 77
    }
done
PATH=$build:$PATH:/usr/sbin
top=$(mktemp -d)
export SLURM_CONF="$top/slurm.conf"
unset SLURM_JOB_ID SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_COUNT 2>/dev/null || true
fail() {
    echo "slurm: $*" >&2
    tail -n 30 "$top"/*.log "$top"/night*/*.log >&2 || true
    exit 1
}
stop() {
    for pid in "$top"/*.pid; do
        [ ! -s "$pid" ] || kill "$(cat "$pid")" 2>/dev/null || true
    done
    sleep 1
    rm -rf "$top"
}
trap stop EXIT

# Three ports that nobody has; another test may have taken them by the time they are used.
ports() {
    /usr/bin/python3 -c 'import socket
s = [socket.socket() for i in range(3)]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])'
}
# shellcheck disable=SC2046
set -- $(ports)
me=$(id -un)
cat >"$SLURM_CONF" <<CONF
ClusterName=gpuparity
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$1
AuthType=auth/none
CredType=cred/none
SlurmUser=$me
SlurmdUser=$me
StateSaveLocation=$top/state
SlurmdSpoolDir=$top/spool-%n
SlurmctldPidFile=$top/ctld.pid
SlurmdPidFile=$top/%n.pid
SlurmctldLogFile=$top/ctld.log
SlurmdLogFile=$top/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1
ReturnToService=2
NodeName=green NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$2 CPUs=2
NodeName=red NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$3 CPUs=2
PartitionName=nvidia Nodes=green Default=YES
PartitionName=amd Nodes=red
CONF
mkdir "$top/state" "$top/spool-green" "$top/spool-red"
slurmctld
slurmd -N green
slurmd -N red
tries=0
until [ "$(sinfo -N -h -t idle -o %N | sort | tr '\n' ' ')" = "green red " ]; do
    tries=$((tries + 1))
    [ $tries -lt 60 ] || fail "the nodes did not come up: $(sinfo)"
    sleep 0.5
done

# wait_for JOB: its end, as Slurm tells it.
wait_for() {
    tries=0
    while :; do
        state=$(scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p' | head -n 1)
        case $state in COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL) break ;; esac
        tries=$((tries + 1))
        [ $tries -lt 240 ] || fail "job $1 is still $state"
        sleep 0.5
    done
}
submit() {
    DEVICE_A=cuda-sim DEVICE_B=hip-sim GRES=none "$source/docs/slurm/submit.sh" "$@"
}
cd "$top"
cases="gemm/naive:m={3|8|17|31},n=8,k=8 gemm/tiled:m={5|16},n=9,k=33"

echo "== both sides in parts, then the comparison"
# shellcheck disable=SC2086
wait_for "$(submit 3 night $cases)"
[ "$state" = COMPLETED ] || fail "the comparison ended as $state"
grep -q '6 cases of 3 shards' night/compare.log || fail "not all parts were merged"
grep -q '<testsuite ' night/report.xml || fail "no report"

echo "== the same as without Slurm"
# shellcheck disable=SC2086
gpuparity run $cases --on cuda-sim -o whole.h5 >/dev/null
gpuparity compare whole.h5 night/cuda-sim.h5 | grep -q '6 cases: 6 SAME' || fail "other bits"
for node in green red; do
    scontrol show job | grep -q "BatchHost=$node" || fail "nothing ran on $node"
done

echo "== parts of equal length"
# shellcheck disable=SC2086
wait_for "$(submit 2 night2 $cases --times night/cuda-sim.h5)"
[ "$state" = COMPLETED ] || fail "with --times the comparison ended as $state"
gpuparity show night2/cuda-sim-1.h5 | grep -q 'shard *1/2:' || fail "the parts were not balanced"

echo "== a fault makes the job fail"
wait_for "$(submit 2 night3 'gemm/fault_tail:m=16,n=16,k={16|20}')"
[ "$state" = FAILED ] || fail "a wrong kernel ended as $state"
grep -q B_WRONG night3/compare.log || fail "no verdict"
