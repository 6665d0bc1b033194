"""Sentences of servers: what a failure is called, without what it is about."""

from __future__ import annotations

from typing import Final

__all__ = ["SENTENCES"]

SENTENCES: Final = """
This model's maximum context length is tokens. However, you requested about tokens (in the messages, in the
completion). Please reduce the length of the messages or completion. Your messages resulted in tokens. prompt is too
long: maximum Input length and `max_tokens` exceed context limit. decrease input length or max_tokens and try again
n_prompt_tokens n_ctx input output text tool in the completion is too large request has at least output tokens The
model's context length of requested a total of tokens from the input messages and tokens for the completion token
count exceeds the model's maximum context length the maximum allowed input length current length is while limit is
Range of input length should be. Request body too large for model. Max size: tokens Your input exceeds the context
window of this model. Please adjust your input and try again. number The input token count exceeds the maximum number
of tokens allowed but model only supports up to Input is too long for requested model. This model's maximum prompt
length is but the request contains tokens prompt token count of exceeds the limit of model_max_prompt_tokens_exceeded
contains tokens too large for model with maximum context length the request exceeds the available context size, try
increasing it exceed_context_size_error Trying to keep the first tokens when context the overflows. However, the model
is loaded with context length of only cannot truncate prompt with n_keep n_ctx greater than the context length Your
request exceeded model token limit. Input token length too long. longer than the context length currently available
prompt too long; exceeded max context length by tokens. Prompt exceeds max length. context window exceeds limit Please
reduce the length of the messages or completion. You exceeded your current quota, please check your plan and billing
details. For more information on this error, read the docs: Rate limit reached for in organization on tokens per min
(TPM): Limit, Used, Requested. Please try again in requests per day (RPD) per minute (RPM) hour second seconds. Too
many requests. retry after. Retry-After. Please wait You can increase your rate limit by adding a payment method to
your account. quota exceeded metric limit value Resource has been exhausted (e.g. check quota). Quota exceeded for
quota metric. insufficient funds credits balance Your credit balance is too low to access the API. Please go to Plans
& Billing to upgrade or purchase credits. This request requires more credits, or fewer max_tokens. You requested up to
tokens, but can only afford. Payment required Incorrect API key provided: You can find your API key at. Invalid API
key. API key not valid. Please pass a valid API key. invalid x-api-key authentication failed unauthorized not
authorized access denied forbidden missing bearer header You didn't provide an API key. No auth credentials found.
token expired. permission denied. does not have access to You do not have access to this model. The model does not
exist or you do not have access to it. Model not found. not found, try pulling it first. is not supported. unknown
model. No endpoints found that support. No allowed providers is not a valid model ID. The requested model is not
available in your region country. unsupported Overloaded. The server is overloaded or not ready yet. The engine is
currently overloaded, please try again later. The server had an error while processing your request. Sorry about that!
You can retry your request, or contact us through our help center if the error persists. Please include the request ID
in your message. Internal server error occurred. An error occurred while processing your request. Service unavailable.
temporarily unavailable. Bad gateway. Gateway timeout. Upstream error from provider returned error. Connection reset
closed aborted refused. Request timed out timeout model runner has unexpectedly stopped, this may be due to resource
limitations or an internal error, check server logs for details. llama runner process has terminated. out of memory.
failed to load model. loading model. model is loading The response was filtered due to the prompt triggering content
management policy. Please modify your prompt and retry. To learn more about our content filtering policies please read
our documentation. Output blocked by content filtering policy. Your request was rejected as a result of our safety
system. was blocked flagged moderation violates usage policies potentially violating prohibited use. recitation.
responsible AI policy. Invalid prompt: your prompt was flagged. Invalid value: Invalid type for: expected one of but
got a an object array string integer number boolean null instead. Supported values are: Unsupported parameter:
Unsupported value: does not support with this model. Only the default value is supported. Unknown parameter:
Unrecognized request argument supplied: Missing required parameter: field required Extra inputs are not permitted.
Input should be a valid. Value error. is not of type. additional properties are not allowed must be greater than or
equal to less than at least most. string too long short. Expected a string with maximum length but got a string with
length instead. Invalid length. Invalid schema for function in context. Invalid tool parameters Bad request. Invalid
request. invalid_request_error malformed JSON parse body could not be parsed decode unexpected end of input.
Unprocessable entity. Provider returned error. Failed to generate function call. tool_use_failed tool choice messages
must be an assistant message with tool calls must be followed by tool messages responding to each tool_call_id The
following tool_call_ids did not have response messages. No tool call found for function call output with call_id No
tool output found for function call. Previous response with id not found. previous_response_id item with id not found
was provided without its required following preceding item of type reasoning function_call message web_search_call The
encrypted content could not be verified decrypted. Encrypted content item_id did not match the target item id thinking
blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original
response. Invalid signature in thinking block. Expected thinking or redacted_thinking, but found text tool_use. When
is enabled, a final assistant message must start with a thinking block (preceding the lastmost set of and blocks).
tool_use ids were found without tool_result blocks immediately after: Each block must have a corresponding result in
the next message. unexpected tool_use_id found in: roles must alternate between user and assistant. all messages must
have non-empty content except for the optional final assistant message. text content blocks must be non-empty. system
role Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly,
and missing thought_signature may lead to degraded model performance. Additional data, function call, position.
Thought signature is not valid. Please ensure that the number of function response parts is equal to the number of
function call parts of the function call turn. Please use a valid role: user, model. contents is not specified.
contents must not be does not support tools images thinking. registry. requires newer version. pull model manifest.
invalid option provided. max_tokens max_completion_tokens temperature top_p reasoning effort stream stop
parallel_tool_calls response_format instructions store include metadata service_tier truncation verbosity
prompt_cache_key safety_identifier budget adaptive disabled use output_config beta interleaved streaming is strongly
recommended for operations that may take longer This operation was aborted. The operation was aborted due to timeout.
Error executing tool: permission denied. Model tried to call unavailable tool. No tools are available. Available
tools: Invalid arguments for tool: JSON parsing failed: Text: Error message: Unterminated string in JSON at position
line column. Type validation failed: Value The stream was cut ended closed before completed response incomplete. No
response. network error fetch failed Error code error message type param status reason details request id url http
https server client host port socket
"""
