"""Gemini: Google's `generateContent` and `streamGenerateContent`, at the Gemini API and at Vertex AI."""
