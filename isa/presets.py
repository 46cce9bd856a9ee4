"""The configurations that come with Tilewright: their fields, by name."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {
    "nano": {
        "ic_p": 4, "oc_p": 4, "px_p": 1, "conv_finish": 1, "pool_finish": 1, "pool_taps": 1, "misc_lanes": 1, "fm_banks": 6,
        "fm_depth": 512, "weight_depth": 512, "param_depth": 64, "taps_depth": 128, "pool_param_depth": 32, "acc_depth": 32,
        "tables": 2, "window_bytes": 32, "axi_data_bits": 64, "axi_addr_bits": 32, "queue_words": 64, "clock_mhz": 60,
        "dsp_packing": False, "shared_finish": True, "narrow_pairs": 1, "acc_ram": "block", "queue_ram": "block",
        "chip": "LFE5U-25F",
    },
    "ulx3s": {
        "ic_p": 8, "oc_p": 8, "px_p": 1, "conv_finish": 4, "pool_finish": 4, "pool_taps": 1, "misc_lanes": 2, "fm_banks": 8,
        "fm_depth": 2048, "weight_depth": 1024, "param_depth": 64, "taps_depth": 256, "pool_param_depth": 64, "acc_depth": 64,
        "tables": 2, "window_bytes": 32, "axi_data_bits": 64, "axi_addr_bits": 32, "queue_words": 64, "clock_mhz": 45,
        "dsp_packing": False, "acc_ram": "block", "queue_ram": "block", "chip": "LFE5U-85F",
    },
    "pynq": {
        "ic_p": 16, "oc_p": 8, "px_p": 2, "conv_finish": 8, "pool_finish": 8, "pool_taps": 1, "misc_lanes": 4, "fm_banks": 16,
        "fm_depth": 1024, "weight_depth": 1024, "param_depth": 128, "taps_depth": 512, "pool_param_depth": 64,
        "acc_depth": 64, "tables": 2, "window_bytes": 64, "axi_data_bits": 64, "axi_addr_bits": 32, "axi_burst_beats": 16,
        "queue_words": 64, "clock_mhz": 100, "dsp_packing": False, "shared_finish": True, "narrow_pairs": 4,
        "pool_param_ram": "distributed", "acc_ram": "block", "chip": "XC7Z020",
    },
    "base": {
        "ic_p": 16, "oc_p": 16, "px_p": 2, "conv_finish": 16, "pool_finish": 8, "pool_taps": 3, "misc_lanes": 4,
        "fm_banks": 16, "fm_depth": 1024, "weight_depth": 4096, "param_depth": 64, "taps_depth": 512, "pool_param_depth": 64,
        "acc_depth": 64, "tables": 2, "window_bytes": 64, "axi_data_bits": 128, "axi_addr_bits": 40, "queue_words": 64,
        "clock_mhz": 300, "weight_ram": "ultra", "param_ram": "block", "acc_ram": "block", "chip": "XCK26",
    },
    "k26": {
        "ic_p": 16, "oc_p": 16, "px_p": 4, "conv_finish": 16, "pool_finish": 8, "pool_taps": 2, "misc_lanes": 4,
        "fm_banks": 16, "fm_depth": 1024, "weight_depth": 4096, "param_depth": 64, "taps_depth": 512, "pool_param_depth": 64,
        "acc_depth": 64, "tables": 2, "window_bytes": 64, "axi_data_bits": 256, "axi_addr_bits": 40, "axi_ports": 2,
        "queue_words": 64, "clock_mhz": 300, "array_clock": 2, "weight_ram": "ultra", "param_ram": "block",
        "acc_ram": "distributed", "chip": "XCK26",
    },
    "zu2": {
        "ic_p": 24, "oc_p": 12, "px_p": 2, "conv_finish": 12, "pool_finish": 8, "pool_taps": 2, "misc_lanes": 4,
        "fm_banks": 12, "fm_depth": 1024, "weight_depth": 512, "param_depth": 128, "taps_depth": 512, "pool_param_depth": 64,
        "acc_depth": 64, "tables": 2, "window_bytes": 64, "axi_data_bits": 128, "axi_addr_bits": 40, "queue_words": 64,
        "clock_mhz": 330, "array_clock": 2, "chip": "XCZU2EG",
    },
    "zu9": {
        "ic_p": 32, "oc_p": 16, "px_p": 4, "conv_finish": 32, "pool_finish": 16, "pool_taps": 2, "misc_lanes": 8,
        "fm_banks": 24, "fm_depth": 1024, "weight_depth": 1024, "param_depth": 128, "taps_depth": 512, "pool_param_depth": 64,
        "acc_depth": 32, "tables": 2, "window_bytes": 64, "axi_data_bits": 128, "axi_addr_bits": 40, "queue_words": 64,
        "clock_mhz": 330, "array_clock": 2, "dsp_adders": True, "chip": "XCZU9EG", "chip_cores": 2,
    },
}  # fmt: skip
