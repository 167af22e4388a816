/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASERUNCALL_H
#define GPUPARITY_CASERUNCALL_H

#include "caserunagain.h"

/* The functions of a case file's libraries, called in the place of kernels. */

/* Opens the libraries and writes into the record which they are. */
bool caserun_library(struct caserun *r);

/* Makes the calls of this side, in order, and waits for the device. */
bool caserun_calls(struct caserun *r);

#endif
