-- The check of a session's counts was another sum before 0006. Rows whose old sum holds get the new one;
-- the others have it already, or are damaged and stay so.

UPDATE sessions SET counts_check =
    message_count % 4294967291 + total_tokens_input % 4294967291
    + total_tokens_output % 4294967291 + total_tokens_cache_read % 4294967291
    + total_tokens_cache_write % 4294967291 + total_tokens_reasoning % 4294967291
WHERE counts_check =
    3 * (message_count & 4294967295) + 19 * (message_count >> 32)
    + 5 * (total_tokens_input & 4294967295) + 23 * (total_tokens_input >> 32)
    + 7 * (total_tokens_output & 4294967295) + 29 * (total_tokens_output >> 32)
    + 11 * (total_tokens_cache_read & 4294967295) + 31 * (total_tokens_cache_read >> 32)
    + 13 * (total_tokens_cache_write & 4294967295) + 37 * (total_tokens_cache_write >> 32)
    + 17 * (total_tokens_reasoning & 4294967295) + 41 * (total_tokens_reasoning >> 32);
