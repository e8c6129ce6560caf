"""Policy: presets, rules, lists, waivers and conditions."""
