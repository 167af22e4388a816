#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts both sides and, when both are done, the comparison; prints the number of that last job.
#
#   PARTITION_A=nvidia PARTITION_B=amd submit.sh PARTS FOLDER [CASE or OPTION...]
#
# DEVICE_A, DEVICE_B   what the nodes of each partition run on (cuda, hip)
# GRES                 what a task needs of a node (gpu:1; none: nothing)
set -eu
parts=$1 folder=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
gres=${GRES:-gpu:1}

# side PARTITION DEVICE CASE...
side() {
    partition=$1 device=$2
    shift 2
    sbatch --parsable --partition="$partition" --gres="$gres" --array="1-$parts" \
        --output="$folder/$device-%a.log" "$here/run.sbatch" "$device" "$folder" "$@"
}

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
a=$(side "${PARTITION_A:-nvidia}" "${DEVICE_A:-cuda}" "$@")
b=$(side "${PARTITION_B:-amd}" "${DEVICE_B:-hip}" "$@")
# afterok: a side that could not run everything is worth a look before it is compared.
sbatch --parsable --partition="${PARTITION_A:-nvidia}" --dependency="afterok:$a:$b" \
    --kill-on-invalid-dep=yes --output="$folder/compare.log" \
    "$here/compare.sbatch" "${DEVICE_A:-cuda}" "${DEVICE_B:-hip}" "$folder"
