"""What a thing is: tokens of texts, messages, images and files, counted or estimated."""
