/* SPDX-License-Identifier: Apache-2.0 */
#include "exec_inside.h"
